import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLogger } from '../../src/platform/logging.ts';
import { RepeatedLines } from '../../src/server/repeatedLines.ts';

const MINUTE_MS = 60_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

function open() {
  const written: string[] = [];
  const lines = new RepeatedLines({ write: (line: string) => written.push(line) });
  const logger = createLogger('info', lines);
  const told = () =>
    written.map((line) => {
      const { time, requestId, ...fields } = JSON.parse(line);
      return fields;
    });
  return { logger, lines, told };
}

const away = (request: number, problem = 'The disk is full.') => ({
  requestId: `request-${request}`,
  route: `/integration/${request}`,
  code: 'unavailable',
  problem,
  error: { name: 'Error', stack: ['at append (log.ts:1:1)', `at caller (route.ts:${request}:1)`] },
});
const MSG = 'a store is unavailable';

test('of one cause, a line a minute with the number of those left out', () => {
  const { logger, told } = open();
  for (let request = 0; request < 760; request += 1) logger.warn(away(request), MSG);
  expect(told()).toHaveLength(1);
  vi.advanceTimersByTime(MINUTE_MS);
  expect(told().map(({ omitted }) => omitted)).toEqual([undefined, 759]);
  logger.warn(away(1), MSG);
  expect(told()).toHaveLength(2);
  vi.advanceTimersByTime(MINUTE_MS);
  expect(told().map(({ omitted }) => omitted)).toEqual([undefined, 759, 1]);
  vi.advanceTimersByTime(10 * MINUTE_MS);
  expect(told()).toHaveLength(3);
  logger.warn(away(2), MSG);
  expect(told().map(({ omitted }) => omitted)).toEqual([undefined, 759, 1, undefined]);
});

test('other causes, and lines that report no problem, are all there', () => {
  const { logger, told } = open();
  const distinct = [
    () => logger.warn(away(1), MSG),
    () => logger.warn(away(1, 'It does not answer.'), MSG),
    () => logger.error(away(1), MSG),
    () => logger.error({ error: { name: 'TypeError', stack: ['at one (a.ts:1:1)'] } }, 'a request failed'),
    () => logger.error({ error: { name: 'TypeError', stack: ['at other (a.ts:9:1)'] } }, 'a request failed'),
    () => logger.error({ position: 7 }, 'an event cannot be read'),
    () => logger.error({ position: 8 }, 'an event cannot be read'),
    () => logger.info({ route: '/integration/payers' }, 'request'),
    () => logger.info({ route: '/integration/payers' }, 'request'),
  ];
  for (const log of distinct) log();
  expect(told()).toHaveLength(distinct.length);
});

test('at the end, what was left out is counted', () => {
  const { logger, lines, told } = open();
  for (let request = 0; request < 3; request += 1) logger.warn(away(request), MSG);
  lines.close();
  expect(told()).toMatchObject([{ msg: MSG }, { msg: MSG, omitted: 2 }]);
  vi.advanceTimersByTime(MINUTE_MS);
  expect(told()).toHaveLength(2);
});
