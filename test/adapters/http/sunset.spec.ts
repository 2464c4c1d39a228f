import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { SUNSET } from '../../../src/adapters/http/pets/deprecation.js';
import { Service } from '../../support/service.js';

const DAY = 86_400_000;

describe('the date on which getPet is to be removed', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  /** Starts the service at a time, lets days pass, and returns how often the log reminded of the removal. */
  async function reminders(start: string, days: number): Promise<number> {
    jest.useFakeTimers({
      now: new Date(start),
      doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'setTimeout'],
    });
    const lines: string[] = [];
    const service = await Service.start({ LOG_LEVEL: 'warn' }, (line) => lines.push(line));
    jest.advanceTimersByTime(days * DAY);
    expect((await service.send('/v1/pets/1')).status).toBe(404);
    await service.stop();
    return lines.filter((line) => line.includes('5 December 2030')).length;
  }

  it('is not spoken of before it comes', async () => {
    expect(await reminders('2030-12-01T00:00:00Z', 3)).toBe(0);
  });

  it('is spoken of in the log daily once it has passed, while the route goes on', async () => {
    expect(await reminders('2030-12-04T12:00:00Z', 3)).toBe(3);
    expect(await reminders('2031-01-01T00:00:00Z', 2)).toBe(3);
  });

  it('is the one that the document tells', async () => {
    const service = await Service.start();
    const { json } = service.contract();
    await service.stop();
    const { paths, components } = JSON.parse(json) as {
      paths: { '/pets/{petId}': { get: { 'x-sunset': string; summary: string } } };
      components: { headers: { Sunset: { example: string } } };
    };
    expect(components.headers.Sunset.example).toBe(SUNSET);
    const { get } = paths['/pets/{petId}'];
    expect(Date.parse(get['x-sunset'])).toBe(Date.parse(SUNSET));
    expect(get.summary).toContain('5 December 2030');
  });
});
