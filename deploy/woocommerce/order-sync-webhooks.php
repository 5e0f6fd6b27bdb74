<?php
/* Plugin Name: order-sync webhooks. Lets WordPress send webhooks to one private address and port: those of intake.webhook.listen. */
const ORDER_SYNC = ['host' => '127.0.0.1', 'port' => 8080];
add_filter('http_request_host_is_external', function ($is, $host) { return $is || $host === ORDER_SYNC['host']; }, 10, 2);
add_filter('http_allowed_safe_ports', function ($ports) { $ports[] = ORDER_SYNC['port']; return $ports; });
