import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { Caller } from '../../domain/events/newEvent.ts';
import { KeptAnswer } from '../../modules/idempotency/KeptAnswer.ts';
import type { ReceivedFile } from '../../modules/records/commands/uploadDocument.ts';
import type { Exchange } from '../server/exchange.ts';
import { type IdempotencyPorts, payloadOf, replay, reserve, runReserved } from '../server/once.ts';
import { type Multipart, readMultipart } from '../server/readMultipart.ts';

/** How an upload is read, with its file going into the store, and how it is written. */
interface UploadSteps<Result> {
  read(): Promise<Multipart<ReceivedFile>>;
  write(caller: Caller, form: Multipart<ReceivedFile>): Promise<Result>;
  discard(file: ReceivedFile): Promise<void>;
}

/**
 * Resolves with the result of the first upload with that `Idempotency-Key` (see `once`). What a form says is known
 * only once it has been read: a repeat's file is digested as it arrives, and is not stored.
 */
export async function uploadOnce<Result>(
  ports: IdempotencyPorts,
  exchange: Exchange,
  key: string,
  { read, write, discard }: UploadSteps<Result>,
): Promise<Result> {
  const reserved = await reserve(ports, exchange, key);
  if (reserved instanceof KeptAnswer) {
    const form = await readMultipart(exchange, digestFile, async () => undefined);
    return replay<Result>(exchange, reserved, payloadOfForm(exchange, form));
  }
  return runReserved(exchange, reserved, async (caller) => {
    const form = await read();
    try {
      await reserved.bind(payloadOfForm(exchange, form));
    } catch (error) {
      if (form.file) await discard(form.file);
      throw error;
    }
    return write(caller, form);
  });
}

type DigestedFile = Pick<ReceivedFile, 'filename' | 'sha256'>;

async function digestFile(filename: string, source: Readable): Promise<DigestedFile> {
  const hash = createHash('sha256');
  for await (const chunk of source) hash.update(chunk);
  return { filename, sha256: hash.digest('hex') };
}

function payloadOfForm({ req }: Exchange, { fields, file }: Multipart<DigestedFile>): object {
  return payloadOf(req, { ...fields, file: file && [file.filename, file.sha256] });
}
