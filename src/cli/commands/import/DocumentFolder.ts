import { createHash } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';
import {
  type DocumentCategory,
  documentFieldsSchema,
  documentFormats,
} from '../../../domain/records/document.ts';
import type { Fingerprint } from './fingerprint.ts';
import { ImportError, type UnreadableEntry } from './importSource.ts';

/** A document that an import is to send. */
export interface DocumentFile {
  path: string;
  /** Its path in the folder, for reports. */
  source: string;
  encounterId: string;
  documentId: string;
  category: DocumentCategory;
}

const categories = documentFieldsSchema.shape.category;

/**
 * A folder of documents identified by their paths: `ENCOUNTER/DOCUMENT.pdf`, or `ENCOUNTER/CATEGORY/DOCUMENT.pdf`. Ids are
 * percent-decoded, as file names cannot contain every character. Hidden files are skipped.
 */
export class DocumentFolder {
  readonly #folder: string;
  readonly #category: DocumentCategory;

  /** `category` applies to documents whose path does not name one. */
  constructor(folder: string, category: DocumentCategory) {
    this.#folder = folder;
    this.#category = category;
  }

  /**
   * Returns all documents, in a stable order; `onUnreadable` is called for anything else, also for a file that would replace
   * another one. Rejects with `ImportError`.
   */
  async list(onUnreadable: (entry: UnreadableEntry) => void): Promise<DocumentFile[]> {
    const documents = new Map<string, DocumentFile>();
    for (const path of await this.#files()) {
      const source = relative(this.#folder, path).replaceAll(sep, '/');
      const read = this.#read(source);
      if (typeof read === 'string') {
        onUnreadable({ source, error: read });
        continue;
      }
      const ids = JSON.stringify([read.encounterId, read.documentId]);
      const other = documents.get(ids);
      if (other === undefined) documents.set(ids, { path, source, ...read });
      else onUnreadable({ source, error: `Its encounter and document id are those of ${other.source}.` });
    }
    return [...documents.values()];
  }

  /** Rejects with `ImportError`. */
  async fingerprint(): Promise<Fingerprint> {
    const digest = createHash('sha256');
    for (const path of await this.#files()) {
      const { size, mtimeMs } = await stat(path).catch((error: unknown) => this.#unreadable(error));
      digest.update(JSON.stringify([relative(this.#folder, path), size, mtimeMs]));
    }
    return { [this.#folder]: digest.digest('hex') };
  }

  async #files(): Promise<string[]> {
    const entries = await readdir(this.#folder, { recursive: true, withFileTypes: true }).catch(
      (error: unknown) => this.#unreadable(error),
    );
    const files = entries.filter((entry) => !entry.isDirectory() && !entry.name.startsWith('.'));
    return files.map(({ parentPath, name }) => join(parentPath, name)).sort();
  }

  #unreadable(error: unknown): never {
    const { code } = error as { code?: string };
    throw new ImportError(`${this.#folder} is not a readable folder of documents (${code}).`);
  }

  /** Parses a path, or returns what is wrong with it. */
  #read(source: string): Omit<DocumentFile, 'path' | 'source'> | string {
    const parts = source.split('/');
    const extension = extname(source);
    if (
      parts.length < 2 ||
      parts.length > 3 ||
      !Object.hasOwn(documentFormats, extension.slice(1).toLowerCase())
    ) {
      return 'The path is not ENCOUNTER/DOCUMENT or ENCOUNTER/CATEGORY/DOCUMENT, with .pdf or .docx.';
    }
    const category = categories.safeParse(parts.length === 3 ? parts[1] : this.#category);
    if (!category.success) return `The middle folder is not one of ${categories.options.join(', ')}.`;
    const [encounterId = '', documentId = ''] = [parts[0], parts.at(-1)?.slice(0, -extension.length)].map(
      decoded,
    );
    if (encounterId === '' || documentId === '') return 'A name in the path is not percent-encoded text.';
    return { encounterId, documentId, category: category.data };
  }
}

function decoded(name = ''): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return '';
  }
}
