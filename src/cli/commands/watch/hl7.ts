import { readFile, stat, writeFile } from 'node:fs/promises';
import { parseJson } from '../../../domain/events/event.ts';
import { splitMessages } from '../../../modules/integrations/hl7/framing.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { type ImportClient, refusedSchema } from '../import/client.ts';
import { ImportDelayed, ImportError } from '../import/source.ts';

/** Of a file, in bytes: it is read as a whole. */
const MOST_BYTES = 256 * 1024 * 1024;
/** Of a request: some of what the service accepts, so that none takes long. */
const LOT_MESSAGES = 200;
const LOT_BYTES = 4 * 1024 * 1024;
const CR = '\r';

/** A message that was not accepted: its control id, the code of the acknowledgment, and what it says. */
interface RefusedMessage {
  control_id: string;
  code: string;
  errors: string[];
}

/**
 * Sends the messages of a file, in order; lists those that were refused in `rejectFile`. A message that was accepted before is
 * acknowledged again and changes nothing. Rejects with `ImportError` when the file cannot be read as messages, and as
 * `ImportClient.send` does.
 */
export async function sendMessages(
  path: string,
  client: ImportClient,
  rejectFile: string,
): Promise<{ accepted: number; rejected: number }> {
  const messages = await messagesIn(path);
  const refused: RefusedMessage[] = [];
  for (const lot of lotsOf(messages)) {
    const body = new Uint8Array(Buffer.concat(lot.flatMap((bytes) => [bytes, Buffer.from(CR)])));
    const { status, text } = await client.send({
      path: '/hl7/v2',
      headers: { 'content-type': 'application/hl7-v2' },
      body: () => body,
    });
    if (status !== 200) {
      const error = refusedSchema.safeParse(parseJson(text)).data?.error ?? '';
      throw new ImportError(`The service refused the messages (${status}): ${error}`);
    }
    refused.push(...refusalsIn(text));
  }
  if (refused.length > 0) await writeLines(rejectFile, refused);
  return { accepted: messages.length - refused.length, rejected: refused.length };
}

async function messagesIn(path: string): Promise<Buffer[]> {
  try {
    const { size } = await stat(path);
    if (size > MOST_BYTES)
      throw new ImportError('The file is larger than 256 MB. Split it into several files.');
    return splitMessages(await readFile(path));
  } catch (error) {
    if (error instanceof ServiceError) throw new ImportError(error.message);
    const { code } = error as NodeJS.ErrnoException;
    throw error instanceof ImportError ? error : new ImportError(`The file cannot be read (${code}).`);
  }
}

function* lotsOf(messages: readonly Buffer[]): Generator<Buffer[]> {
  let lot: Buffer[] = [];
  let size = 0;
  for (const message of messages) {
    if (lot.length === LOT_MESSAGES || (lot.length > 0 && size + message.length > LOT_BYTES)) {
      yield lot;
      [lot, size] = [[], 0];
    }
    lot.push(message);
    size += message.length + 1;
  }
  if (lot.length > 0) yield lot;
}

/** Returns the negative acknowledgments of a response, with the texts of their ERR segments. */
function refusalsIn(text: string): RefusedMessage[] {
  const found: RefusedMessage[] = [];
  let current: RefusedMessage | undefined;
  for (const segment of text.split(/[\r\n]+/)) {
    const fields = segment.split('|');
    if (fields[0] === 'MSH') current = undefined;
    else if (fields[0] === 'MSA' && /^[AC][ER]$/.test(fields[1] ?? '')) {
      current = { control_id: fields[2] ?? '', code: String(fields[1]), errors: [] };
      found.push(current);
    } else if (fields[0] === 'ERR') current?.errors.push(segment);
  }
  return found;
}

async function writeLines(path: string, lines: readonly object[]): Promise<void> {
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  await writeFile(path, text, { mode: 0o600, flush: true }).catch((error) => {
    throw new ImportDelayed(`The file ${path} cannot be written (${error.code}).`);
  });
}
