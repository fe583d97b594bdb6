import {
  Chartledger,
  type ChartledgerError,
  type ChartledgerOptions,
} from '../../clients/typescript/src/index.ts';
import type { TestService } from './service.ts';

/** The TypeScript client with the key of a service's tests; `options` override where and how. */
export function chartledgerOf(
  { url, key = '' }: Pick<TestService, 'url' | 'key'>,
  options: Partial<ChartledgerOptions> = {},
): Chartledger {
  return new Chartledger({ url, apiKey: key, ...options });
}

/** All that an iterable gives. */
export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

/** The error that a call of the client rejects with. */
export function errorOf(call: Promise<unknown>): Promise<ChartledgerError> {
  return call.then(
    () => {
      throw new Error('the call succeeded');
    },
    (error) => error,
  );
}
