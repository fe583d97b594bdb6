import { createHash } from 'node:crypto';
import { z } from 'zod';
import { documentFormats, MAX_FILENAME_LENGTH } from '../../../../domain/records/document.ts';
import type { Mapping } from '../../mapping.ts';
import {
  codeableConceptSchema,
  codingsOf,
  identifierSchema,
  listOf,
  ofCodes,
  referenceSchema,
} from './elements.ts';
import { type Issue, type Mapped, type MappingContext, refused, remarked } from './issues.ts';

const attachmentSchema = z.object({
  contentType: z.string().optional(),
  data: z.string().optional(),
  url: z.string().optional(),
  title: z.string().optional(),
  size: z.int().optional(),
  hash: z.string().optional(),
});
type Attachment = z.infer<typeof attachmentSchema>;

/** The parts of a DocumentReference (FHIR R4, 2.37) that are used. */
export const documentReferenceSchema = z.object({
  resourceType: z.literal('DocumentReference'),
  id: z.string().optional(),
  identifier: listOf(identifierSchema).optional(),
  status: z.enum(['current', 'superseded', 'entered-in-error']),
  type: codeableConceptSchema.optional(),
  category: listOf(codeableConceptSchema).optional(),
  content: listOf(z.object({ attachment: attachmentSchema })).optional(),
  relatesTo: listOf(z.object({ code: z.string() })).optional(),
  context: z.object({ encounter: listOf(referenceSchema).optional() }).optional(),
});
type DocumentReference = z.infer<typeof documentReferenceSchema>;

const LOINC = 'http://loinc.org';

/** Categories by LOINC codes for types of documents; others are a `medical_record`. */
const categories = new Map(
  Object.entries({
    '18842-5': 'discharge_summary',
    '11506-3': 'progress_report',
    '34117-2': 'patient_history',
    '11348-0': 'patient_history',
    '51847-2': 'doctor_notes',
    '34109-9': 'doctor_notes',
    '11488-4': 'doctor_notes',
    '11502-2': 'lab_results',
    '18748-4': 'radiology_report',
    '68604-8': 'radiology_report',
    '47045-0': 'diagnostic_report',
    '11369-6': 'immunization_report',
    '57133-1': 'referral',
    '59284-0': 'consent_form',
    '64290-0': 'consent_form',
  }),
);

const extensions = new Map([
  [documentFormats.pdf as string, '.pdf'],
  [documentFormats.docx, '.docx'],
]);
/** Matches a data URL (RFC 2397) up to its data; it has few parameters. */
const DATA_URL = /^data:([^;,]{0,200})(?:;[^;,]{1,200}){0,9};base64$/;

/**
 * Returns what a DocumentReference says about a document of an encounter: its first attachment that is a PDF or a
 * DOCX.
 */
export function mapDocumentReference(
  reference: DocumentReference,
  { mapping }: MappingContext,
  id: string | undefined,
): Mapped {
  const { status, content = [], context } = reference;
  if (status === 'entered-in-error') {
    return nothing(
      'DocumentReference.status',
      'A document that was entered in error is not stored; what was sent of it before remains.',
    );
  }
  const held = content.map(({ attachment }) => ({ attachment, file: fileOf(attachment) }));
  const taken = held.find(({ file }) => file !== undefined);
  if (taken?.file === undefined) {
    const text = 'No attachment is a PDF or DOCX in data or in a data URL, so it is ignored.';
    return nothing('DocumentReference.content.attachment', text);
  }
  const { extension, bytes } = taken.file;
  const name = fileNameOf(taken.attachment.title ?? id ?? 'document', extension);
  const issues = [...damages(taken.attachment, bytes), ...remarksOn(reference)];
  const encounter = context?.encounter?.[0];
  if (encounter === undefined) {
    issues.push(
      refused('required', 'DocumentReference.context.encounter', 'Send the encounter that it belongs to.'),
    );
  }
  const own = ownCategoryOf(reference, mapping);
  const category = own ?? categoryOf(reference);
  return {
    ...(own && {
      origins: { category: { at: 'DocumentReference.type', setting: 'mapping.document_categories' } },
    }),
    ...{ of: 'document', encounter, category, bytes, issues },
    fileName: name,
  };
}

/** Returns issues where the bytes do not match the size and SHA-1 given by the sender (FHIR R4, 2.24.0.8). */
function damages({ size, hash }: Attachment, bytes: Buffer): Issue[] {
  const sent = hash === undefined ? undefined : Buffer.from(hash, 'base64');
  const actual = createHash('sha1').update(bytes).digest();
  const at = 'DocumentReference.content.attachment';
  return [
    ...(size !== undefined && size !== bytes.length
      ? [refused('value', `${at}.size`, 'The data does not have this size.')]
      : []),
    ...(sent?.length === actual.length && !sent.equals(actual)
      ? [refused('value', `${at}.hash`, 'The data does not have this SHA-1.')]
      : []),
    ...(sent !== undefined && sent.length !== actual.length
      ? [
          remarked(
            'value',
            `${at}.hash`,
            'This is not a SHA-1 in base64, so the data is not checked against it.',
          ),
        ]
      : []),
  ];
}

/** Returns remarks on what of a document is not used. */
function remarksOn({ content = [], context, relatesTo = [] }: DocumentReference): Issue[] {
  const remarks: [boolean, string, string][] = [
    [content.length > 1, 'content', 'Only the first attachment that is a PDF or DOCX is stored.'],
    [
      (context?.encounter?.length ?? 0) > 1,
      'context.encounter',
      'Only the first encounter is used; the document belongs to it.',
    ],
    [
      relatesTo.some(({ code }) => code === 'replaces'),
      'relatesTo',
      'The document that this one replaces is not changed.',
    ],
  ];
  return remarks.flatMap(([holds, element, text]) =>
    holds ? [remarked('informational', `DocumentReference.${element}`, text)] : [],
  );
}

function nothing(expression: string, text: string): Mapped {
  return { of: 'nothing', issues: [remarked('not-supported', expression, text)] };
}

/**
 * Returns a title as a file name: with its extension, without characters that file names cannot have, and within
 * their maximum length.
 */
function fileNameOf(title: string, extension: string): string {
  const text = title.replaceAll(/\p{Cc}/gu, ' ').trim();
  const base = text.toLowerCase().endsWith(extension) ? text.slice(0, -extension.length) : text;
  return `${[...base.slice(0, 2 * MAX_FILENAME_LENGTH)].slice(0, MAX_FILENAME_LENGTH - extension.length).join('')}${extension}`;
}

function fileOf({ contentType, data, url }: Attachment): { extension: string; bytes: Buffer } | undefined {
  const [typeInUrl, dataInUrl] = dataUrl(url) ?? [];
  const type = (contentType ?? typeInUrl)?.split(';')[0]?.trim().toLowerCase() ?? '';
  const [extension, base64] = [extensions.get(type), data ?? dataInUrl];
  const bytes = base64 === undefined ? undefined : bytesOf(base64);
  return extension === undefined || bytes === undefined ? undefined : { extension, bytes };
}

/** Returns the type and the data of a data URL. */
function dataUrl(url = ''): [string, string] | undefined {
  const comma = url.indexOf(',');
  const type = DATA_URL.exec(url.slice(0, Math.max(comma, 0)))?.[1];
  return type === undefined ? undefined : [type, url.slice(comma + 1)];
}

/**
 * Decodes base64, ignoring white space; undefined where it is invalid. Takes time linear in the length of the text.
 */
function bytesOf(base64: string): Buffer | undefined {
  const end = base64.indexOf('=');
  const [digits, padding] = end < 0 ? [base64, ''] : [base64.slice(0, end), base64.slice(end)];
  const isWrong = /[^A-Za-z0-9+/\s]/.test(digits) || !/^(?:=\s{0,2}){0,2}\s*$/.test(padding);
  return isWrong ? undefined : Buffer.from(digits, 'base64');
}

function ownCategoryOf({ type, category = [] }: DocumentReference, mapping: Mapping): string | undefined {
  return ofCodes(mapping.document_categories, codingsOf([type, ...category]));
}

function categoryOf({ type, category = [] }: DocumentReference): string {
  const codings = codingsOf([type, ...category]);
  const known = codings.flatMap(({ system, code = '' }) => (system === LOINC && categories.get(code)) || []);
  return known[0] ?? 'medical_record';
}
