import { Readable } from 'node:stream';
import type { ServiceError } from '../../../platform/errors.ts';
import { within } from '../within.ts';

interface Limits {
  /** Time limit for the first bytes. */
  firstMs: number;
  /** Time limit for the next bytes, when requested. */
  stallMs: number;
  toServiceError(error: unknown): Promise<ServiceError>;
}

/** Returns a download once its first bytes have arrived; it fails when it stalls, and ends its request when abandoned. */
export async function readWithin(open: () => Readable, limits: Limits): Promise<Readable> {
  const source = open();
  let answered = false;
  source.once('response', () => {
    answered = true;
  });
  // The library throws, outside any promise, if the stream is already destroyed when the response arrives and is to be piped to
  // it.
  const leave = () => {
    if (answered) source.destroy();
    else source.once('response', () => setImmediate(() => source.destroy()));
  };
  const chunks = source[Symbol.asyncIterator]();
  const next = async (ms: number) => {
    try {
      return await within(ms, chunks.next());
    } catch (error) {
      leave();
      throw await limits.toServiceError(error);
    }
  };
  const first = await next(limits.firstMs);
  const all = async function* () {
    for (let one = first; !one.done; one = await next(limits.stallMs)) yield one.value;
  };
  return Readable.from(all(), { objectMode: false }).once('close', leave);
}
