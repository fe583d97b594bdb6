import { extname, join } from 'node:path/posix';
import { setImmediate } from 'node:timers/promises';
import sax from 'sax';
import { type RangedFile, readZipEntries, ZipError } from './zipArchive.ts';

const CONTENT_TYPES = '[content_types].xml';
const RELATIONSHIPS = '_rels/.rels';
/** How a relationship to the main part ends, in the transitional and the strict format (ECMA-376 part 1, 15.2.10). */
const MAIN_RELATIONSHIP = '/officedocument';
/** Twice as many as an archive may have entries. */
const MAX_ELEMENTS = 20_000;
/** Characters of XML parsed without letting other requests proceed. */
const SLICE = 64 * 1024;

/** Why a file is not a DOCX. */
export type DocxDefect = 'other' | 'encrypted' | 'macros' | 'template' | 'damaged' | 'oversized';

/** What a main part of that content type is (ECMA-376 part 1, 11.3.10; [MS-OFFMACRO2] 2.2); the types in lower case. */
const mainTypes = new Map<string, 'docx' | DocxDefect>([
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml', 'docx'],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml', 'template'],
  ['application/vnd.ms-word.document.macroenabled.main+xml', 'macros'],
  ['application/vnd.ms-word.template.macroenabledtemplate.main+xml', 'macros'],
]);

/**
 * Returns why a file is not a DOCX: a ZIP archive (see `readZipEntries`) whose main part is a Word document without macros, as its
 * list of content types says; undefined for a DOCX. Rejects as `file.read` does, and with the reason of `file.signal` once that is
 * aborted.
 */
export async function docxDefect(file: RangedFile): Promise<DocxDefect | undefined> {
  try {
    const entries = await readZipEntries(file, [CONTENT_TYPES, RELATIONSHIPS]);
    const list = entries.get(CONTENT_TYPES);
    if (list === undefined) return 'other';
    const { overrides, defaults } = await readContentTypes(list);
    const main = await findMainPart(entries.get(RELATIONSHIPS));
    const type =
      overrides.get(main) ??
      defaults.get(extname(main).slice(1)) ??
      // Where the relationships name no part of the list, a document still has a single main part.
      [...overrides.values()].find((declared) => mainTypes.has(declared));
    const kind = mainTypes.get(type ?? '') ?? 'other';
    return kind === 'docx' ? undefined : kind;
  } catch (error) {
    if (error instanceof ZipError) return error.reason === 'absent' ? 'other' : error.reason;
    throw error;
  }
}

interface ContentTypes {
  /** By the part's path. */
  overrides: Map<string, string>;
  /** By the extension of a part's path. */
  defaults: Map<string, string>;
}

/** Returns the declared content types (ECMA-376 part 2, 7.2.3), all in lower case. */
async function readContentTypes(xml: Buffer): Promise<ContentTypes> {
  const types: ContentTypes = { overrides: new Map(), defaults: new Map() };
  for await (const { name, attributes } of elementsOf(xml)) {
    const { PartName = '', Extension = '', ContentType = '' } = attributes;
    if (name === 'Override') types.overrides.set(partPath(PartName), ContentType.toLowerCase());
    if (name === 'Default') types.defaults.set(Extension.toLowerCase(), ContentType.toLowerCase());
  }
  return types;
}

/** Returns the path of the part that the relationships of a package name as its document; empty when they name none. */
async function findMainPart(xml: Buffer = Buffer.from('<Relationships/>')): Promise<string> {
  for await (const { attributes } of elementsOf(xml)) {
    const { Type = '', Target = '' } = attributes;
    if (Type.toLowerCase().endsWith(MAIN_RELATIONSHIP)) return partPath(Target);
  }
  return '';
}

/** Paths of parts do not distinguish upper and lower case; targets are relative to the package. */
function partPath(name: string): string {
  return join('/', name).toLowerCase();
}

interface XmlElement {
  /** Without its prefix. */
  name: string;
  attributes: Record<string, string>;
}

/**
 * Yields the elements of an XML document, at most 20,000. Expands only character references and the entities that XML itself defines. Throws
 * `ZipError` when it has more, or is not well-formed.
 */
async function* elementsOf(xml: Buffer): AsyncGenerator<XmlElement, void> {
  const parser = sax.parser(true);
  let elements: XmlElement[] = [];
  let count = 0;
  parser.onopentag = ({ name, attributes }) => {
    count += 1;
    if (count > MAX_ELEMENTS) throw new ZipError('oversized');
    elements.push({
      name: name.slice(name.indexOf(':') + 1),
      attributes: attributes as Record<string, string>,
    });
  };
  parser.onerror = (error) => {
    throw new ZipError('damaged', error);
  };
  const text = new TextDecoder(encodingOf(xml)).decode(xml);
  for (let at = 0; at < text.length; at += SLICE) {
    parser.write(text.slice(at, at + SLICE));
    yield* elements;
    elements = [];
    await setImmediate();
  }
  parser.close();
}

/** XML in a package is UTF-8 or UTF-16 (ECMA-376 part 2, 6.2.5); the first character is a byte order mark or `<`. */
function encodingOf([first, second]: Uint8Array): string {
  if (first === 0xff || second === 0) return 'utf-16le';
  if (first === 0xfe || first === 0) return 'utf-16be';
  return 'utf-8';
}
