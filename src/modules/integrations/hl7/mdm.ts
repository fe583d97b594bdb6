import { inTable } from '../mapping.ts';
import type { Operation } from '../operations.ts';
import { type MapEvent, type MappingContext, Sourced } from './context.ts';
import type { Segment } from './parser.ts';
import { patientIdOf, patientOf } from './patient.ts';
import { encounterOf, requiredVisitIdOf } from './records.ts';

/** Categories by the types of documents (HL7 table 0270); others are `medical_record`. */
const CATEGORIES: Partial<Record<string, string>> = {
  ...{ CD: 'diagnostic_report', SP: 'diagnostic_report', DI: 'radiology_report', DS: 'discharge_summary' },
  ...{ HP: 'patient_history', PH: 'patient_history', PR: 'progress_report' },
  ...{ CN: 'doctor_notes', ED: 'doctor_notes', OP: 'doctor_notes', PC: 'doctor_notes', PN: 'doctor_notes' },
};

/** File extensions by the subtypes of their data (ED-3, or a media type in its place), in lower case. */
const EXTENSIONS = new Map([
  ['pdf', '.pdf'],
  ['docx', '.docx'],
  ['vnd.openxmlformats-officedocument.wordprocessingml.document', '.docx'],
]);

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;

/** In characters, without the extension. */
const MOST_OF_NAME = 200;

/** Where TXA has the number of a document, and of the one that it replaces. */
const OWN = 12;
const PARENT = 13;

/** Availabilities (HL7 table 0273) of a document that is no longer one: cancelled, obsolete. */
const WITHDRAWN = new Set(['CA', 'OB']);

/** What a document is of, and how it is called there. */
interface Subject {
  patientId: string;
  encounterId: string;
  documentId: string;
  header: Segment;
}

/** Returns what the document is of whose number TXA has in a field; undefined where that is not said: an error. */
function subjectOf(context: MappingContext, field = OWN): Subject | undefined {
  const [patientId, encounterId] = [patientIdOf(context), requiredVisitIdOf(context)];
  const header = context.message.first('TXA');
  const documentId = header?.value(field);
  if (header === undefined) context.refuse('100', 'TXA^1', 'Send a TXA segment with the document number.');
  else if (!documentId) context.refuse('101', header.at(field), 'Send the document number.');
  if (!patientId || !encounterId || !header || !documentId) return undefined;
  return { patientId, encounterId, documentId, header };
}

function storedDocument(context: MappingContext): Operation[] {
  const subject = subjectOf(context);
  const content = contentOf(context);
  if (!subject || !content) return [];
  const { patientId, encounterId, documentId, header } = subject;
  const category = categoryOf(context, header);
  const name = header.value(16);
  return [
    ...patientOf(context, patientId, 'ifAbsent'),
    ...encounterOf(context, { id: encounterId, patient_id: patientId }, {}, { ifAbsent: true }),
    {
      type: 'document',
      encounterId,
      documentId,
      category: category.value,
      fileName: fileNameOf(name ?? documentId, content.extension),
      bytes: content.bytes,
      at: content.segment.at(5),
      origins: {
        document_id: { at: header.at(OWN, 1) },
        category: category.origin,
        filename: { at: header.at(name == null ? OWN : 16, 1) },
        file: { at: content.segment.at(5, 5) },
      },
    },
  ];
}

/** Removes the document whose number TXA has in a field. */
function removed(context: MappingContext, field: number): Operation[] {
  const subject = subjectOf(context, field);
  if (subject === undefined) return [];
  const { encounterId, documentId, header } = subject;
  const origins = { document_id: { at: header.at(field, 1) } };
  return [{ type: 'removal', encounterId, documentId, at: header.at(field), origins }];
}

/** A document that is replaced by another one is obsolete (HL7 v2.5.1, 9.5.9). */
function replaced(context: MappingContext): Operation[] {
  const header = context.message.first('TXA');
  const [own, parent] = [header?.value(OWN), header?.value(PARENT)];
  return parent && parent !== own ? removed(context, PARENT) : [];
}

function changedStatus(context: MappingContext): Operation[] {
  const { message } = context;
  if (WITHDRAWN.has(message.first('TXA')?.value(19) ?? '')) return removed(context, OWN);
  const hasContent = message.event === 'T04' && message.all('OBX').some((one) => extensionOf(one));
  return hasContent ? storedDocument(context) : [];
}

/** Medical records (HL7 v2.5.1, chapter 9): documents with their content, and what becomes of them. */
export const documentActions = {
  document: storedDocument,
  replaceDocument: (context) => [...storedDocument(context), ...replaced(context)],
  replacedDocument: replaced,
  documentStatus: changedStatus,
  cancelDocument: (context) => removed(context, OWN),
} satisfies Record<string, MapEvent>;

function categoryOf({ source }: MappingContext, header: Segment): Sourced<string> {
  const type = header.value(2) ?? '';
  const own = inTable(source.mapping?.document_categories, type);
  const category = own ?? CATEGORIES[type.toUpperCase()] ?? 'medical_record';
  const setting = own && { setting: 'mapping.document_categories' };
  return new Sourced(category, { at: header.at(2, 1), ...setting });
}

interface Content {
  segment: Segment;
  extension: string;
  bytes: Buffer;
}

/**
 * Returns the first file in OBX-5, the one that TXA-12 names if there are several; what else there is is remarked on.
 */
function contentOf(context: MappingContext): Content | undefined {
  let content: Content | undefined;
  let isBroken = false;
  for (const segment of context.message.all('OBX')) {
    const extension = extensionOf(segment);
    if (extension === undefined) {
      context.warn(
        '103',
        segment.at(5),
        'This is not a PDF or DOCX as encapsulated data (ED), so it is ignored.',
      );
    } else if (content) {
      context.warn('103', segment.at(5), 'A message can have only one document, so this one is ignored.');
    } else {
      const bytes = bytesOf(segment);
      if (bytes) content = { segment, extension, bytes };
      else {
        isBroken = true;
        refuseContent(context, segment);
      }
    }
  }
  if (content === undefined && !isBroken && context.source.others !== 'accept') {
    context.refuse('101', 'OBX^1^5', 'Send the document as encapsulated data (ED): a PDF or DOCX in base64.');
  }
  return content;
}

function extensionOf(segment: Segment): string | undefined {
  if (segment.value(2) !== 'ED') return undefined;
  const subtypes = [segment.value(5, 3), segment.value(5, 2)];
  return subtypes
    .map((one) => EXTENSIONS.get((one ?? '').toLowerCase().replace(/^application\//, '')))
    .find((one) => one !== undefined);
}

function bytesOf(segment: Segment): Buffer | undefined {
  const data = segment.value(5, 5)?.replaceAll(/\s/g, '');
  if (!isBase64(segment) || !data || !BASE64.test(data)) return undefined;
  return Buffer.from(data, 'base64');
}

function isBase64(segment: Segment): boolean {
  return segment.value(5, 4)?.toLowerCase() === 'base64';
}

function refuseContent(context: MappingContext, segment: Segment): void {
  if (!isBase64(segment)) {
    context.refuse('102', segment.at(5, 4), 'The encoding is not Base64. Send the document in base64.');
  } else if (segment.value(5, 5)) {
    context.refuse('102', segment.at(5, 5), 'This is not base64. Send the document in base64.');
  } else context.refuse('101', segment.at(5, 5), 'Send the document in base64.');
}

function fileNameOf(text: string, extension: string): string {
  const name = [...text.replaceAll(/[/\\\p{Cc}]/gu, '_')].slice(0, MOST_OF_NAME).join('');
  return name.toLowerCase().endsWith(extension) ? name : `${name}${extension}`;
}
