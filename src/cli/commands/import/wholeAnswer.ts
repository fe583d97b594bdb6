import { parseJson } from '../../lib/httpFailure.ts';
import { type Answer, type ImportClient, refusedSchema, type Sending } from './ImportClient.ts';
import { ImportError } from './importSource.ts';

/**
 * Returns what `read` makes of a response; one that was cut off, for which it returns undefined, is requested again. Rejects as
 * `ImportClient.send` does.
 */
export async function wholeAnswer<Value>(
  client: ImportClient,
  sending: Sending,
  read: (answer: Answer) => Value | undefined,
): Promise<Value> {
  for (let failures = 0; ; ) {
    const value = read(await client.send(sending));
    if (value !== undefined) return value;
    failures++;
    if (failures === client.retries.attempts) throw client.away('answers are cut off');
    await client.delay(failures, 'an answer was cut off');
  }
}

/** The error for rows that are refused together. */
export function refusedBatch(client: ImportClient, { status, text }: Answer): ImportError {
  const refused = refusedSchema.safeParse(parseJson(text)).data;
  if (refused === undefined || status === 404) return client.stranger(status);
  if (status >= 500) return client.away(`status ${status}`);
  return new ImportError(
    `The service refused a batch (${status}): ${refused.error} Start over with --fresh, or send to a service of this version.`,
  );
}
