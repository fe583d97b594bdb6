import { z } from 'zod';
import { dataAs, maxTime, type RecordedEvent } from '../events/event.ts';
import { erasureStepAfter } from '../events/payloads.ts';
import { assertNextVersion, upcast } from '../events/upcasting.ts';
import { identifier } from './schema/fields.ts';

/** 250 MB (spec section 8), taken as mebibytes. */
export const MAX_DOCUMENT_BYTES = 250 * 1024 * 1024;

/** In characters; file systems allow names of the same number of bytes. */
export const MAX_FILENAME_LENGTH = 255;

export const documentFormats = {
  pdf: 'application/pdf',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
} as const;

export type DocumentFormat = keyof typeof documentFormats;

/** Spec section 2.7, without the file itself. */
export const documentFieldsSchema = z.object({
  document_id: identifier("The caller's document identifier", 'document-5001'),
  category: z
    .enum([
      'radiology_report',
      'lab_results',
      'diagnostic_report',
      'progress_report',
      'discharge_summary',
      'doctor_notes',
      'medical_record',
      'patient_history',
      'immunization_report',
      'referral',
      'consent_form',
    ])
    .meta({ description: 'What the document is', examples: ['lab_results'] }),
});

/** The category of a document. */
export type DocumentCategory = z.infer<typeof documentFieldsSchema>['category'];

/** Data of `DocumentUploaded`. */
export interface DocumentUploaded {
  encounter_id: string;
  document_id: string;
  category: DocumentCategory;
  /** The file's base name, as sent by the caller. */
  filename: string;
  format: DocumentFormat;
  /** Bytes. */
  size: number;
  /** Lower-case hex. */
  sha256: string;
  /** The name under which the document store holds the bytes. */
  object_id: string;
}

/** Data of `DocumentRemoved`. */
export interface DocumentRemoved {
  encounter_id: string;
  document_id: string;
}

export type DocumentEventType = 'DocumentUploaded' | 'DocumentRemoved' | 'DocumentErased';

export const documentEventTypes: DocumentEventType[] = [
  'DocumentUploaded',
  'DocumentRemoved',
  'DocumentErased',
];

/** A document as of its last event. */
export type DocumentState = DocumentVersionState &
  (
    | { removed: false; document: DocumentUploaded }
    | { removed: true; document?: DocumentUploaded; erased?: true }
  );

interface DocumentVersionState {
  version: number;
  createdAt: string;
  /** For an erased document: when it was erased. */
  updatedAt: string;
}

/** A document that has not been removed. */
export type PresentDocument = DocumentState & { removed: false };

/** Returns the data of a `DocumentUploaded` of any schema version. */
export function uploadedBy(event: RecordedEvent): DocumentUploaded {
  return dataAs<DocumentUploaded>(upcast(event).data);
}

/**
 * Folds the next event of a document's stream, of any schema version, into its state. Throws as `evolveRecord` does.
 */
export function evolveDocument(state: DocumentState | undefined, event: RecordedEvent): DocumentState {
  const { data } = upcast(event);
  const version = event.revision + 1;
  const updatedAt = maxTime(state?.updatedAt, event.recordedAt);
  const erasure = erasureStepAfter(state?.version ?? 0, event);
  // The earlier versions may be gone.
  if (erasure === 'done') return { version, createdAt: updatedAt, updatedAt, removed: true, erased: true };
  assertNextVersion(state?.version ?? 0, event);
  if (erasure === 'begun' && state) return { ...state, version };
  const createdAt = state && !state.removed ? state.createdAt : updatedAt;
  if (event.type === 'DocumentRemoved') {
    const document = state?.document;
    return { version, createdAt, updatedAt, removed: true, ...(document && { document }) };
  }
  return { version, createdAt, updatedAt, removed: false, document: dataAs<DocumentUploaded>(data) };
}

/** A document as callers see it. */
export interface DocumentView {
  document_id: string;
  category: DocumentCategory;
  filename: string;
  content_type: (typeof documentFormats)[DocumentFormat];
  /** Bytes. */
  size: number;
  /** Lower-case hex. */
  sha256: string;
  version: number;
  created_at: string;
  updated_at: string;
}

/** Returns a document without the service's internal fields. */
export function viewDocument(state: PresentDocument): DocumentView {
  const { document_id, category, filename, format, size, sha256 } = state.document;
  return {
    document_id,
    category,
    filename,
    content_type: documentFormats[format],
    size,
    sha256,
    version: state.version,
    created_at: state.createdAt,
    updated_at: state.updatedAt,
  };
}
