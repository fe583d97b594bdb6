import { Writable } from 'node:stream';

/** A response that is kept in memory instead of being sent; of a long one, the beginning. */
export class HeldAnswer extends Writable {
  statusCode = 200;
  headersSent = false;
  shouldKeepAlive = true;
  /** Whether the body was longer than what is kept. */
  isCut = false;
  readonly #most: number;
  readonly #chunks: Buffer[] = [];
  #length = 0;
  #headers: string[] = [];

  /** `most`: bytes of the body that are kept. */
  constructor(most: number) {
    super();
    this.#most = most;
  }

  /** As in `ServerResponse`; names and values alternate. */
  writeHead(status: number, headers: string[]): this {
    this.statusCode = status;
    this.#headers = headers;
    this.headersSent = true;
    return this;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    const kept = chunk.subarray(0, this.#most - this.#length);
    if (kept.length < chunk.length) this.isCut = true;
    this.#chunks.push(kept);
    this.#length += kept.length;
    done();
  }

  /** Returns the value of a header, by its name in any case. */
  header(name: string): string | undefined {
    const at = this.#headers.findIndex(
      (one, index) => index % 2 === 0 && one.toLowerCase() === name.toLowerCase(),
    );
    return at === -1 ? undefined : this.#headers[at + 1];
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString();
  }
}
