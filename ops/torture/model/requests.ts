/** What both the service and the model are asked; they must give the same answer. */
export type ModelRequest =
  | { op: 'upsert'; key: KeyName; write: RecordWrite; skip: boolean; idempotencyKey?: string }
  | { op: 'batch'; key: KeyName; lines: RecordWrite[] }
  | { op: 'read' | 'history'; key: KeyName; kind: Kind; id: string }
  | { op: 'list'; key: KeyName; kind: Kind }
  | { op: 'upload'; key: KeyName; document: DocumentWrite; idempotencyKey?: string }
  | { op: 'download'; key: KeyName; encounter: string; document: string }
  | { op: 'remove'; key: KeyName; encounter: string; document: string; match?: number | '*' }
  | { op: 'documents'; key: KeyName; encounter: string }
  | { op: 'erase'; kind: Kind; id: string }
  | { op: 'setKey'; key: KeyName; state: KeyState }
  | { op: 'newKey'; key: KeyName }
  | { op: 'setWorkspace'; state: 'active' | 'deactivated' }
  | { op: 'restart' };

export const kinds = ['payer', 'provider', 'facility', 'patient', 'encounter'] as const;
export type Kind = (typeof kinds)[number];

export const plurals: Record<Kind, string> = {
  payer: 'payers',
  provider: 'providers',
  facility: 'facilities',
  patient: 'patients',
  encounter: 'encounters',
};

/** Keys that may write and read, only write, and only read; and an invalid one. */
export const keyNames = ['both', 'writes', 'reads', 'unknown'] as const;
export type KeyName = (typeof keyNames)[number];
export type KeyState = 'active' | 'deactivated' | 'deleted';

export type Fields = Record<string, unknown>;

/** `match`: the version that `If-Match` names, or `*`; `isNew`: `If-None-Match: *`. */
export interface RecordWrite {
  kind: Kind;
  record: Fields & { id: string };
  match?: number | '*';
  isNew?: boolean;
}

export interface DocumentWrite {
  encounter: string;
  document: string;
  category: string;
  content: string;
  match?: number | '*';
  isNew?: boolean;
}

/** The parts of an answer that the specification defines. */
export type Answer = { status: number } & Record<string, unknown>;
