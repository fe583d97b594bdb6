import { isUtf8 } from 'node:buffer';
import { MIMEType } from 'node:util';
import { decodeExtended, parse } from 'content-disposition';
import libmime from 'libmime';
import { type FormPart, malformedForm } from './formParts.ts';

/** What the headers of a part say. */
export interface PartHeaders {
  name: string;
  /** The base name of a file; undefined for a field, whatever its type (RFC 7578 section 4.4). */
  filename: string | undefined;
  /** Of a field's text, as `TextDecoder` names it. */
  charset: string;
}

/**
 * Returns the boundary that a `Content-Type` names, one character a byte; undefined when it names none. Without quotes,
 * it may contain characters that only a quoted value may, such as `=`, `/` and blanks.
 */
export function boundaryOf(contentType: string): string | undefined {
  return (
    mimeType(contentType.replace(/;\s*boundary\s*=\s*/i, ';boundary='))?.params.get('boundary') ?? undefined
  );
}

function mimeType(text: string): MIMEType | undefined {
  try {
    return new MIMEType(text);
  } catch {
    return undefined;
  }
}

/**
 * Returns what the headers of a part say, as leniently as other servers read them. Throws `malformed_body` when there is
 * no `Content-Disposition`, or no name in it.
 */
export function readPartHeaders({ number, headers }: FormPart): PartHeaders {
  const lines = libmime.decodeHeaders(headers);
  const [disposition] = lines['content-disposition'] ?? [];
  if (disposition === undefined) throw malformedForm(`Part ${number} has no Content-Disposition header.`);
  const { name, filename } = readDisposition(disposition);
  if (name === undefined) throw malformedForm(`The Content-Disposition of part ${number} has no name.`);
  return { name, filename, charset: charsetOf(lines['content-type']?.[0]) };
}

function charsetOf(contentType = ''): string {
  const charset = mimeType(contentType)?.params.get('charset') ?? 'utf-8';
  try {
    return new TextDecoder(charset).encoding;
  } catch {
    return 'utf-8';
  }
}

/** A quoted value: up to the quote before the next parameter, or up to the end where that quote is missing. */
const QUOTED = /=[ \t]*"(?:((?:[^\\]|\\["\\]|\\(?!["\\]))*?)"(?=[ \t]*(?:;|$))|(.*)$)/g;

/** Writes the quotes within quoted values as browsers do (`%22`), whether they were escaped or not. */
function escapeQuotes(header: string): string {
  return header.replace(QUOTED, (_all, quoted: string | undefined, unclosed: string) => {
    const value = (quoted ?? unclosed.replace(/"[^"]*$/, '')).replace(/\\(["\\])/g, '$1');
    return `="${value.replaceAll('"', '%22')}"`;
  });
}

/** A name in `filename*` is used if its charset is known (RFC 6266 section 4.3), otherwise the one in `filename`. */
function readDisposition(header: string): { name: string | undefined; filename: string | undefined } {
  const { parameters } = parse(escapeQuotes(header), { multipart: true, extended: false });
  const { name, filename: plain, 'filename*': extended } = parameters;
  const decoded = extended === undefined ? undefined : decodeExtended(extended);
  // Other charsets, and names in several parameters (RFC 2231).
  const other = () => libmime.parseHeaderValue(header).params.filename;
  const filename = decoded ?? (plain === undefined ? other() : libmime.decodeWords(textOf(plain)));
  return {
    name: name === undefined ? undefined : textOf(name),
    filename: filename === undefined ? undefined : baseName(filename).toWellFormed(),
  };
}

/** Bytes that are not UTF-8 are Windows-1252, as they are to browsers. */
function textOf(value: string): string {
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : new TextDecoder('windows-1252').decode(bytes);
}

function baseName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
}
