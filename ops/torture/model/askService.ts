import { ServiceError } from '../../../src/platform/errors.ts';
import { runCli } from '../../../test/support/cli.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { documentsPath, formBody, formType, part } from '../../../test/support/samples.ts';

import { bodyOf, type Answer as HttpAnswer } from '../support/send.ts';
import type { RealService } from './RealService.ts';
import { type Answer, type Kind, type ModelRequest, plurals, type RecordWrite } from './requests.ts';

type Conditions = { match?: number | '*'; isNew?: boolean; idempotencyKey?: string };

/** Asks the service what the model was asked, and resolves with its answer in the model's terms. */
export async function askService(service: RealService, request: ModelRequest): Promise<Answer> {
  switch (request.op) {
    case 'restart':
      await service.restart();
      return { status: 200 };
    case 'newKey':
      await service.newKey(request.key);
      return { status: 200 };
    case 'setKey':
      return settled(service.setKey(request.key, request.state));
    case 'setWorkspace':
      return settled(service.setWorkspace(request.state));
    case 'erase':
      return erase(service, request.kind, request.id);
    case 'upsert': {
      const { write, skip, key, idempotencyKey } = request;
      const path = `/integration/${plurals[write.kind]}${skip ? '?unchanged=skip' : ''}`;
      const headers = headersOf({ ...write, ...(idempotencyKey && { idempotencyKey }) });
      const answer = await service.send(json(path, write.record, headers), key);
      return written(answer);
    }
    case 'batch': {
      const body = request.lines.map((line) => `${JSON.stringify(lineOf(line))}\n`).join('');
      const headers = { 'content-type': 'application/x-ndjson' };
      const answer = await service.send(
        { method: 'POST', path: '/integration/batch', headers, body },
        request.key,
      );
      return answer.status === 200 ? { status: 200, results: batchResults(answer) } : refused(answer);
    }
    case 'upload': {
      const { encounter, document, category, content } = request.document;
      const fields = [part.field('document_id', document), part.field('category', category)];
      const headers = {
        ...formType,
        ...headersOf({
          ...request.document,
          ...(request.idempotencyKey && { idempotencyKey: request.idempotencyKey }),
        }),
      };
      const body = formBody([...fields, part.file(Buffer.from(content))]);
      const path = documentsPath(encounter);
      return written(await service.send({ method: 'POST', path, headers, body }, request.key));
    }
    case 'remove': {
      const path = documentsPath(request.encounter, request.document);
      const answer = await service.send({ method: 'DELETE', path, headers: headersOf(request) }, request.key);
      return answer.status === 200 ? { status: 200 } : refused(answer);
    }
    default:
      return read(service, request);
  }
}

type Read = Extract<ModelRequest, { op: 'read' | 'history' | 'list' | 'download' | 'documents' }>;

async function read(service: RealService, request: Read): Promise<Answer> {
  const answer = await eventually(async () => {
    const got = await service.send({ path: pathOf(request) }, request.key);
    // A list that lags says so, and is requested again.
    if (got.status === 503) throw new Error(`503: ${got.bytes}`);
    return got;
  });
  if (answer.status !== 200) return refused(answer);
  const version = versionOf(answer);
  if (request.op === 'download') return { status: 200, version, content: answer.bytes.toString() };
  const body = bodyOf(answer);
  switch (request.op) {
    case 'read':
      return { status: 200, version, record: body.record };
    case 'history':
      return { status: 200, history: body.items.map(pick('version', 'outcome')) };
    case 'list':
      return { status: 200, items: body.items.map(pick('version', 'record')).map(found) };
    default:
      return {
        status: 200,
        items: body.items.map((item: Record<string, unknown>) => [item.document_id, item.version]).sort(),
      };
  }
}

function pathOf(request: Read): string {
  switch (request.op) {
    case 'list':
      return `/integration/${plurals[request.kind]}`;
    case 'documents':
      return documentsPath(request.encounter);
    case 'download':
      return documentsPath(request.encounter, request.document);
    default: {
      const member = `/integration/${plurals[request.kind]}/${encodeURIComponent(request.id)}`;
      return request.op === 'history' ? `${member}/history` : member;
    }
  }
}

/** Erases by the command; resolves when the service has learnt of it. */
async function erase(service: RealService, kind: Kind, id: string): Promise<Answer> {
  const { env } = service.stores;
  const more = kind === 'patient' ? ['--with-encounters'] : [];
  const about = ['--workspace', service.workspace, '--reason', 'asked for'];
  const { code } = await runCli(['records', 'erase', kind, id, ...about, ...more], { env });
  if (code !== 0) return { status: 409 };
  await eventually(async () => {
    if (!(await hasHeard(service, kind, id))) throw new Error('the service has not heard of the erasure');
  });
  return { status: 200 };
}

/** Resolves with whether a record no longer counts as one that can be referred to. */
async function hasHeard(service: RealService, kind: Kind, id: string): Promise<boolean> {
  if (kind === 'encounter') return (await service.send({ path: documentsPath(id) })).status !== 200;
  const trial = {
    patient: { id: 'trial', first_name: 'a', last_name: 'b', date_of_birth: '1984-02-29' },
    encounter: { id: 'trial', patient_id: 'none' },
  };
  const [path, record] =
    kind === 'payer'
      ? ['patients', { ...trial.patient, primary_insurance: { payer_id: id } }]
      : ['encounters', { ...trial.encounter, [`${kind}_id`]: id }];
  const answer = await service.send(json(`/integration/${path}?dry_run=true`, record, {}));
  const { details = [], code } = bodyOf(answer);
  return (
    code === 'workspace_deactivated' ||
    details.some((detail: { kind: string; id: string }) => detail.kind === kind && detail.id === id)
  );
}

async function settled(change: Promise<void>): Promise<Answer> {
  try {
    await change;
    return { status: 200 };
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'conflict') return { status: 409 };
    throw error;
  }
}

function json(path: string, value: unknown, headers: Record<string, string>) {
  return {
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(value),
  };
}

function headersOf({ match, isNew, idempotencyKey }: Conditions): Record<string, string> {
  return {
    ...(match !== undefined && { 'if-match': match === '*' ? '*' : `"${match}"` }),
    ...(isNew && { 'if-none-match': '*' }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
  };
}

function lineOf({ kind, record, match }: RecordWrite): object {
  return { kind, record, ...(match !== undefined && { if_match: match }) };
}

/** Returns the answer to a write. */
function written(answer: HttpAnswer): Answer {
  if (answer.status !== 200) return refused(answer);
  const { version, outcome } = bodyOf(answer);
  if (versionOf(answer) !== version) throw new Error('ETag is not the version');
  const replayed = answer.headers['idempotent-replayed'] === 'true';
  return { status: 200, version, ...(outcome && { outcome }), ...(replayed && { replayed }) };
}

function batchResults(answer: HttpAnswer): Answer[] {
  const lines = answer.bytes.toString().split('\n').slice(0, -1);
  const results = lines.map((line) => JSON.parse(line)).filter(({ line }) => line !== undefined);
  return results.map(({ status, version, outcome, code, details }) =>
    status === 200 ? { status, version, outcome } : refusal(status, code, version, details),
  );
}

function refused(answer: HttpAnswer): Answer {
  const { code, version, details } = bodyOf(answer);
  return refusal(answer.status, code, version, details);
}

function refusal(
  status: number,
  code: string,
  version: number | undefined,
  details: { field: string }[] | undefined,
): Answer {
  return {
    status,
    code,
    ...(status === 412 && { version }),
    ...(status === 400 && { fields: details?.map(({ field }) => field).sort() }),
  };
}

function versionOf({ headers }: HttpAnswer): number {
  return Number(headers.etag?.replaceAll('"', ''));
}

function pick(...names: string[]) {
  return (item: Record<string, unknown>) => Object.fromEntries(names.map((name) => [name, item[name]]));
}

function found(item: Record<string, unknown>): Answer {
  return { status: 200, ...item };
}
