import { Readable } from 'node:stream';
import type { ServiceError } from '../../errors.ts';
import { within } from '../within.ts';

interface Limits {
  /** How long the first bytes may take. */
  firstMs: number;
  /** How long the next bytes may take, when they are wanted. */
  stallMs: number;
  toServiceError(error: unknown): Promise<ServiceError>;
}

/** A download once its first bytes are there; it fails when it stands still, and ends its request when it is left. */
export async function readWithin(open: () => Readable, limits: Limits): Promise<Readable> {
  const source = open();
  let answered = false;
  source.once('response', () => {
    answered = true;
  });
  // The library throws, outside of any promise, when the answer finds the stream destroyed before it is piped.
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
