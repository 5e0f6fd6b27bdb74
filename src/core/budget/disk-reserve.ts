/** With less room on the disk of the outbox nothing is sent: what comes back could perhaps not be written down. */
export const sendingReserveBytes = 100 * 1024 * 1024;
