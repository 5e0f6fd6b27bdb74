import { describe, expect, it } from 'vitest';
import { Lifecycle } from '../../src/ops/lifecycle.ts';

const order = ['folder', 'server', 'database', 'late'] as const;

describe('the lifecycle', () => {
  it('stops each part once, in the order of the names, however often it is stopped', async () => {
    const life = new Lifecycle(order);
    const released: string[] = [];
    await life.push('database', () => void released.push('database'));
    await life.push('server', async () => void released.push('server'));
    await Promise.all([life.stop(), life.stop()]);
    await life.stop();
    expect(released).toEqual(['server', 'database']);
  });

  it('releases the started parts when the start fails, and throws the reason', async () => {
    const life = new Lifecycle(order);
    const released: string[] = [];
    const start = life.start(async () => {
      await life.push('database', () => void released.push('database'));
      throw new Error('port taken');
    });
    await expect(start).rejects.toThrow('port taken');
    expect(released).toEqual(['database']);
  });

  it('runs every releaser although one fails, and then throws all failures', async () => {
    const life = new Lifecycle(order);
    const released: string[] = [];
    await life.push('database', () => void released.push('database'));
    await life.push('server', () => {
      throw new Error('stuck');
    });
    await life.push('folder', () => Promise.reject(new Error('gone')));
    const failure: unknown = await life.stop().catch((error: unknown) => error);
    expect(released).toEqual(['database']);
    expect(failure).toBeInstanceOf(AggregateError);
    expect(failure).toMatchObject({
      errors: [
        { message: 'folder could not be stopped' },
        { message: 'server could not be stopped' },
      ],
    });
  });

  it('throws both failures when the start and a releaser fail', async () => {
    const life = new Lifecycle(order);
    const start = life.start(async () => {
      await life.push('server', () => {
        throw new Error('stuck');
      });
      throw new Error('port taken');
    });
    await expect(start).rejects.toMatchObject({
      errors: [{ message: 'port taken' }, { errors: [{}] }],
    });
  });

  it('runs a releaser at once when it is pushed after the stop', async () => {
    const life = new Lifecycle(order);
    await life.stop();
    let released = false;
    await life.push('late', () => void (released = true));
    expect(released).toBe(true);
    expect(life.stopped).toBe(true);
  });
});
