import { once } from 'node:events';
import { Readable } from 'node:stream';
import { expect, test, vi } from 'vitest';
import { Exports } from '../../src/modules/integrity/jobs.ts';
import { unavailable } from '../../src/platform/errors.ts';

const job = {
  ...{ workspace: 'clinic', filters: { from: null, to: null, kind: null } },
  format: 'ndjson' as const,
};

const principal = { type: 'user', id: 'user_1' } as const;
const caller = { workspace: 'clinic', principal, requestId: 'request' };

function exportsOf() {
  const run = vi.fn(
    (_job: unknown, _caller: unknown, _until: number) => new Readable({ read: () => undefined }),
  );
  return { run, exports: new Exports({ run, signs: async () => false }) };
}

test('two run at a time; one that ends, or is broken off, gives its place to the next', async () => {
  const { run, exports } = exportsOf();
  const record = vi.fn(async () => 7);
  const [first, second] = [
    await exports.start(job, caller, record),
    await exports.start(job, caller, record),
  ];
  expect(run.mock.calls.map(([, , until]) => until)).toEqual([7, 7]);
  const refused = exports.start(job, caller, record);
  await expect(refused).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('in progress'),
  });
  expect(record).toHaveBeenCalledTimes(2);
  first.destroy();
  await once(first, 'close');
  const third = await exports.start(job, caller, record);
  second.push(null);
  second.resume();
  await once(second, 'close');
  await exports.start(job, caller, record);
  expect(third.destroyed).toBe(false);
});

test('nothing runs, and no place is taken, when the audit trail could not be told', async () => {
  const { run, exports } = exportsOf();
  const away = () => Promise.reject(unavailable('event log'));
  for (let n = 0; n < 3; n++) {
    await expect(exports.start(job, caller, away)).rejects.toMatchObject({ code: 'unavailable' });
  }
  expect(run).not.toHaveBeenCalled();
});

test('a stop breaks off those that are under way', async () => {
  const { exports } = exportsOf();
  const stream = await exports.start(job, caller, async () => 1);
  const failed = once(stream, 'error');
  exports.close();
  await expect(failed).resolves.toMatchObject([{ message: 'the service ends' }]);
});
