import { isDeepStrictEqual } from 'node:util';
import { invalidFields, references } from './fieldRules.ts';
import type {
  Answer,
  DocumentWrite,
  Fields,
  KeyName,
  KeyState,
  Kind,
  ModelRequest,
  RecordWrite,
} from './requests.ts';
import { kinds } from './requests.ts';

interface Version {
  version: number;
  outcome: 'created' | 'updated' | 'unchanged' | 'erased';
}

interface ModelRecord {
  version: number;
  fields: Fields;
  state: 'present' | 'erased';
  history: Version[];
}

interface ModelDocument {
  version: number;
  content: string;
  state: 'present' | 'removed' | 'erased';
}

const permissions: Record<KeyName, string[]> = {
  both: ['write', 'read'],
  writes: ['write'],
  reads: ['read'],
  unknown: [],
};
const readOps = ['read', 'history', 'list', 'download', 'documents'];
const withCountry: Kind[] = ['payer', 'provider', 'facility', 'patient'];
const categories = ['lab_results', 'consent_form'];

/**
 * What the specification says, or the guides where it leaves something open: the minimum needed to answer every
 * request.
 */
export class Model {
  readonly keys = new Map<KeyName, KeyState>([
    ['both', 'active'],
    ['writes', 'active'],
    ['reads', 'active'],
  ]);
  readonly records = new Map<string, ModelRecord>();
  readonly documents = new Map<string, ModelDocument>();
  #workspace: 'active' | 'deactivated' = 'active';
  /** By API key and idempotency key. */
  readonly #kept = new Map<string, { request: ModelRequest; answer: Answer }>();

  record(kind: Kind, id: string): ModelRecord | undefined {
    return this.records.get(`${kind} ${id}`);
  }

  document(encounter: string, document: string): ModelDocument | undefined {
    return this.documents.get(`${encounter} ${document}`);
  }

  /** Carries out a request, and returns what the service must answer. */
  answer(request: ModelRequest): Answer {
    switch (request.op) {
      case 'erase':
        return this.#erase(request.kind, request.id);
      case 'setKey':
        if (this.keys.get(request.key) === 'deleted')
          return { status: request.state === 'deleted' ? 200 : 409 };
        this.keys.set(request.key, request.state);
        return { status: 200 };
      case 'newKey':
        this.keys.set(request.key, 'active');
        for (const name of this.#kept.keys()) if (name.startsWith(`${request.key} `)) this.#kept.delete(name);
        return { status: 200 };
      case 'setWorkspace':
        this.#workspace = request.state;
        return { status: 200 };
      case 'restart':
        return { status: 200 };
      default:
        return this.#refusal(request.key, request.op) ?? this.#answerOnce(request);
    }
  }

  #refusal(key: KeyName, op: string): Answer | undefined {
    const state = this.keys.get(key) ?? 'deleted';
    if (state === 'deleted') return { status: 401, code: 'unauthorized' };
    if (state === 'deactivated') return { status: 403, code: 'key_deactivated' };
    if (this.#workspace === 'deactivated') return { status: 403, code: 'workspace_deactivated' };
    const needed = readOps.includes(op) ? 'read' : 'write';
    return permissions[key].includes(needed) ? undefined : { status: 403, code: 'permission_denied' };
  }

  #answerOnce(request: Extract<ModelRequest, { key: KeyName }>): Answer {
    const { idempotencyKey } = request as { idempotencyKey?: string };
    const name = `${request.key} ${idempotencyKey}`;
    const kept = idempotencyKey === undefined ? undefined : this.#kept.get(name);
    if (request.op === 'upload' && !this.#isPresent('encounter', request.document.encounter) && !kept)
      return { status: 404, code: 'not_found' };
    if (kept) {
      if (isDeepStrictEqual(kept.request, request)) return { ...kept.answer, replayed: true };
      return { status: 422, code: 'idempotency_key_reused' };
    }
    const answer = this.#carryOut(request);
    if (idempotencyKey !== undefined && answer.status === 200) this.#kept.set(name, { request, answer });
    return answer;
  }

  #carryOut(request: Extract<ModelRequest, { key: KeyName }>): Answer {
    switch (request.op) {
      case 'upsert':
        return this.#write(request.write, request.skip);
      case 'batch':
        return this.#batch(request.lines);
      case 'upload':
        return this.#upload(request.document);
      case 'list':
        return { status: 200, items: this.#list(request.kind) };
      case 'read':
        return this.#read(request.kind, request.id);
      case 'history': {
        const record = this.record(request.kind, request.id);
        return record
          ? { status: 200, history: record.history.toReversed() }
          : { status: 404, code: 'not_found' };
      }
      case 'documents':
        return this.#documentsOf(request.encounter);
      case 'download':
        return this.#download(request.encounter, request.document);
      case 'remove':
        return this.#remove(request.encounter, request.document, request.match);
      default:
        throw new Error(`${request.op} has no answer`);
    }
  }

  #isPresent(kind: Kind, id: string): boolean {
    return this.record(kind, id)?.state === 'present';
  }

  #write({ kind, record, match, isNew }: RecordWrite, skip: boolean): Answer {
    const invalid = invalidFields(kind, record);
    if (invalid.length > 0) return { status: 400, code: 'validation_failed', fields: invalid };
    const missing = references(kind, record).filter(([, other, id]) => !this.#isPresent(other, id));
    if (missing.length > 0)
      return { status: 400, code: 'reference_not_found', fields: missing.map(([field]) => field).sort() };
    const before = this.record(kind, record.id);
    const present = before?.state === 'present' ? before : undefined;
    const conflict = conflictOf(present?.version, match, isNew);
    if (conflict) return conflict;
    const fields = merge(present?.fields ?? {}, record);
    const isSame = present !== undefined && isDeepStrictEqual(fields, present.fields);
    if (skip && isSame) return { status: 200, version: present.version, outcome: 'unchanged' };
    const version = (before?.version ?? 0) + 1;
    const outcome = present === undefined ? 'created' : 'updated';
    const entry: Version = { version, outcome: isSame ? 'unchanged' : outcome };
    const history = [...(before?.history ?? []), entry];
    this.records.set(`${kind} ${record.id}`, { version, fields, state: 'present', history });
    return { status: 200, version, outcome };
  }

  /** Lines are carried out after those that they may refer to. */
  #batch(lines: RecordWrite[]): Answer {
    const results = new Map<RecordWrite, Answer>();
    const steps: Kind[][] = [['payer', 'provider', 'facility'], ['patient'], ['encounter']];
    for (const step of steps)
      for (const line of lines) if (step.includes(line.kind)) results.set(line, this.#write(line, false));
    return { status: 200, results: lines.map((line) => results.get(line)) };
  }

  #read(kind: Kind, id: string): Answer {
    const record = this.record(kind, id);
    if (record === undefined) return { status: 404, code: 'not_found' };
    if (record.state === 'erased') return { status: 410, code: 'gone' };
    return { status: 200, version: record.version, record: view(kind, record.fields) };
  }

  #list(kind: Kind): Answer[] {
    const found = [...this.records].filter(
      ([name, { state }]) => name.startsWith(`${kind} `) && state === 'present',
    );
    return found.map(([name]) => this.#read(kind, name.slice(kind.length + 1)));
  }

  #upload({ encounter, document, category, content, match, isNew }: DocumentWrite): Answer {
    const fields = [
      ...(categories.includes(category) ? [] : ['category']),
      ...(content.startsWith('%PDF-') ? [] : ['file']),
    ];
    if (fields.length > 0) return { status: 400, code: 'validation_failed', fields };
    const before = this.document(encounter, document);
    const conflict = conflictOf(before?.state === 'present' ? before.version : undefined, match, isNew);
    if (conflict) return conflict;
    const version = (before?.version ?? 0) + 1;
    this.documents.set(`${encounter} ${document}`, { version, content, state: 'present' });
    return { status: 200, version };
  }

  #documentsOf(encounter: string): Answer {
    const { status, code } = this.#read('encounter', encounter);
    if (status !== 200) return { status, code };
    const found = [...this.documents].filter(
      ([name, { state }]) => name.startsWith(`${encounter} `) && state === 'present',
    );
    const items = found.map(([name, { version }]) => [name.slice(encounter.length + 1), version]);
    return { status, items: items.sort() };
  }

  #download(encounter: string, id: string): Answer {
    const document = this.document(encounter, id);
    if (document?.state === 'erased') return { status: 410, code: 'gone' };
    if (document?.state !== 'present') return { status: 404, code: 'not_found' };
    return { status: 200, version: document.version, content: document.content };
  }

  #remove(encounter: string, id: string, match: number | '*' | undefined): Answer {
    const document = this.document(encounter, id);
    if (!this.#isPresent('encounter', encounter) || document?.state !== 'present')
      return { status: 404, code: 'not_found' };
    const conflict = conflictOf(document.version, match, false);
    if (conflict) return conflict;
    document.state = 'removed';
    document.version += 1;
    return { status: 200 };
  }

  /** A patient is erased with its encounters; nothing that others refer to is erased. */
  #erase(kind: Kind, id: string): Answer {
    if (!this.#isPresent(kind, id)) return { status: 409 };
    const referrers = this.#referrers(kind, id);
    if (kind !== 'patient' && referrers.length > 0) return { status: 409 };
    for (const [otherKind, other] of [...referrers, [kind, id] as const]) this.#eraseOne(otherKind, other);
    return { status: 200 };
  }

  #referrers(kind: Kind, id: string): [Kind, string][] {
    return kinds.flatMap((other) =>
      [...this.records]
        .filter(([name, { state }]) => name.startsWith(`${other} `) && state === 'present')
        .filter(([, { fields }]) =>
          references(other, view(other, fields)).some(([, to, named]) => to === kind && named === id),
        )
        .map(([name]): [Kind, string] => [other, name.slice(other.length + 1)]),
    );
  }

  #eraseOne(kind: Kind, id: string): void {
    const record = this.record(kind, id) as ModelRecord;
    record.version += 1;
    record.state = 'erased';
    record.history = [{ version: record.version, outcome: 'erased' }];
    if (kind !== 'encounter') return;
    for (const [name, document] of this.documents) {
      if (!name.startsWith(`${id} `) || document.state === 'erased') continue;
      document.state = 'erased';
      document.version += 1;
    }
  }
}

function conflictOf(
  version: number | undefined,
  match: number | '*' | undefined,
  isNew = false,
): Answer | undefined {
  const isMet =
    (match === undefined || (match === '*' ? version !== undefined : match === version)) &&
    !(isNew && version !== undefined);
  return isMet ? undefined : { status: 412, code: 'version_conflict', version };
}

/** JSON Merge Patch; an insurance replaces the earlier one as a whole. */
function merge(before: Fields, sent: Fields): Fields {
  const merged = { ...before };
  for (const [field, value] of Object.entries(sent)) {
    if (value === null) delete merged[field];
    else merged[field] = typeof value === 'object' ? merge({}, value as Fields) : value;
  }
  return merged;
}

function view(kind: Kind, fields: Fields): Fields {
  const { provider_id } = fields;
  return {
    ...(withCountry.includes(kind) && { country: 'US' }),
    ...(kind === 'encounter' && provider_id !== undefined && { rendering_provider_id: provider_id }),
    ...fields,
  };
}
