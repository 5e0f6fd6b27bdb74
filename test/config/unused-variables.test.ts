import { describe, expect, it } from 'vitest';
import { load, minimal, mistakesOf } from './config-file.ts';

describe('a variable that begins with ORDER_SYNC_ and sets nothing', () => {
  it.each([
    ['ORDER_SYNC_LOG_LEVEL', 'ORDER_SYNC__LOG__LEVEL'],
    ['ORDER_SYNC_LOG__LEVLE', 'ORDER_SYNC__LOG__LEVEL'],
    ['ORDER_SYNC_DATA_DIR', 'ORDER_SYNC__DATA_DIR'],
    ['ORDER_SYNC_WHOLESALE_KEYS_1_VALUE', 'ORDER_SYNC__WHOLESALE__KEYS__1__VALUE'],
    ['ORDER_SYNC_CONFG', 'ORDER_SYNC_CONFIG'],
  ])('is a mistake where it looks like a key: %s', (name, meant) => {
    expect(mistakesOf(minimal, { environment: { [name]: 'debug' } })).toContain(
      `${name} sets nothing, did you mean ${meant}?`,
    );
  });

  it('is a mistake without its value, which may be a secret', () => {
    const environment = { ORDER_SYNC_WHOLESALE_KEYS_0_VALUE: 'sk-a-secret' };
    expect(mistakesOf(minimal, { environment }).join()).not.toContain('sk-a-secret');
  });

  it('is a warning where it looks like none, and nothing where Kubernetes sets it or it is empty', () => {
    const links = {
      ORDER_SYNC_SERVICE_HOST: '10.0.0.1',
      ORDER_SYNC_PORT_8080_TCP_ADDR: '10.0.0.1',
      ORDER_SYNC_PORT: 'tcp://',
    };
    const { warnings } = load(minimal, {
      environment: { ...links, ORDER_SYNC_LOG_LEVEL: '', ORDER_SYNC_IMAGE_DIGEST: 'x' },
    });
    expect(warnings).toEqual([expect.stringContaining('ORDER_SYNC_IMAGE_DIGEST sets nothing')]);
  });
});
