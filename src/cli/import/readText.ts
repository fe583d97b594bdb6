import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { ImportError } from './importSource.ts';

/**
 * The text of a file, piece by piece, without its byte order mark. Rejects with `ImportError` when the file cannot be
 * read or is not UTF-8: guessing at names in another encoding would corrupt them.
 */
export async function* readText(path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const chunk of createReadStream(path)) yield decoder.decode(chunk, { stream: true });
    yield decoder.decode();
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') {
      throw new ImportError(`${basename(path)} is not UTF-8 text. Convert it to UTF-8 and import it again.`);
    }
    throw new ImportError(`${path} cannot be read (${code ?? 'unknown reason'}).`);
  }
}
