import type { Bucket, File } from '@google-cloud/storage';
import type { AbandonedUpload } from '../../documentStore.ts';

const CLAIM = '.claim';
const LIST_PAGE = 1_000;

type Call = <Result>(work: () => Promise<Result>) => Promise<Result>;

/**
 * Notes of uploads under way: `<folder>/<object id>` says that one began, `<object id>.claim` contains the stream that will name
 * it. Each is written once, because the store accepts one write per second for a name.
 */
export class GcsUploadNotes {
  readonly #bucket: Bucket;
  readonly #folder: string;
  readonly #call: Call;

  /** `call` makes one request. */
  constructor(bucket: Bucket, folder: string, call: Call) {
    this.#bucket = bucket;
    this.#folder = folder;
    this.#call = call;
  }

  begin(objectId: string): Promise<void> {
    return this.#write(objectId, '');
  }

  claim(objectId: string, stream: string): Promise<void> {
    return this.#write(objectId + CLAIM, stream);
  }

  /** Removes the notes of an upload; false when there were none, or no longer any. */
  async remove(objectId: string): Promise<boolean> {
    // The claim is removed last: an upload that only has a claim is still settled against the log.
    const begun = await this.#delete(objectId);
    const claimed = await this.#delete(objectId + CLAIM);
    return begun || claimed;
  }

  /** Returns the uploads noted before a moment, in milliseconds, except those in `running`. */
  async before(moment: number, running: ReadonlySet<string>): Promise<AbandonedUpload[]> {
    const found = new Map<string, AbandonedUpload>();
    for (let pageToken: string | undefined; ; ) {
      const page = await this.list(LIST_PAGE, pageToken);
      for (const note of page.notes) {
        const objectId = note.name.slice(this.#folder.length + 1).replace(CLAIM, '');
        const isOld = Date.parse(String(note.metadata.updated)) <= moment;
        if (!isOld || running.has(objectId) || found.has(objectId)) continue;
        found.set(objectId, { objectId, stream: await this.#streamOf(objectId) });
      }
      pageToken = page.nextPageToken;
      if (pageToken === undefined) return [...found.values()];
    }
  }

  /** Returns a page of the notes. */
  async list(
    most: number,
    pageToken?: string,
  ): Promise<{ notes: File[]; nextPageToken: string | undefined }> {
    const [notes, next] = await this.#call(() =>
      this.#bucket.getFiles({
        prefix: `${this.#folder}/`,
        maxResults: most,
        autoPaginate: false,
        ...(pageToken && { pageToken }),
      }),
    );
    return { notes, nextPageToken: (next as { pageToken?: string } | null)?.pageToken };
  }

  async #streamOf(objectId: string): Promise<string | undefined> {
    // An earlier release overwrote the first note with the claim.
    return (await this.#read(objectId + CLAIM)) || (await this.#read(objectId)) || undefined;
  }

  async #read(name: string): Promise<string | undefined> {
    const content = await this.#call(() => this.#file(name).download().catch(nothingWhereMissing));
    return content?.[0].toString();
  }

  #file(name: string): File {
    return this.#bucket.file(`${this.#folder}/${name}`);
  }

  async #write(name: string, content: string): Promise<void> {
    await this.#call(() =>
      this.#file(name).save(content, {
        resumable: false,
        contentType: 'text/plain',
        validation: 'crc32c',
      }),
    );
  }

  async #delete(name: string): Promise<boolean> {
    return (await this.#call(() => this.#file(name).delete().catch(nothingWhereMissing))) !== undefined;
  }
}

function nothingWhereMissing(error: unknown): undefined {
  if ((error as { code?: unknown }).code !== 404) throw error;
}
