import { createHash, randomBytes } from 'node:crypto';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { documentStream, recordStream } from '../../../src/domain/events/streams.ts';
import { documentsPath, formBody, formType, part } from '../../../test/support/samples.ts';
import { type Attempt, contentOf, type Ledger } from './Ledger.ts';
import { type Answer, bodyOf, type Request, send } from './send.ts';

/** What writers share. */
export interface Place {
  /** Resolves with the service's address; waits while it starts. */
  url(): Promise<string>;
  key: string;
  workspace: string;
  ledger: Ledger;
  /** Between an answer and the next write. */
  pauseMs: number;
  /** Collects responses that the service must never give. */
  failures: string[];
  /** Counts of responses, by kind. */
  answers: Map<string, number>;
}

const RECORDS = 4;
const LINES = 20;
const LARGEST_DOCUMENT = 100_000;
const PAUSE_MS = 50;
/** Refusals that are to be expected while a service dies and comes back. */
const passing = new Set([503, 409]);

type Fields = Record<string, string>;

/** Sends writes of all sorts, one after the other, about records of its own. */
export class Writer {
  readonly #place: Place;
  readonly #name: string;
  readonly #choose: (below: number) => number;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  #writes = 0;

  /** `choose` returns whole numbers from 0 to below a bound. */
  constructor(place: Place, name: string, choose: (below: number) => number) {
    this.#place = place;
    this.#name = name;
    this.#choose = choose;
  }

  /** Writes until `stopping`, and completes what was begun with an `Idempotency-Key`. */
  async run(stopping: AbortSignal): Promise<void> {
    await this.#sendUntilAccepted(
      this.#upsert('patient', this.#fields('patient', 0)),
      `${this.#name}-patient`,
    );
    await this.#sendUntilAccepted(
      this.#upsert('encounter', this.#fields('encounter', 0)),
      `${this.#name}-encounter`,
    );
    while (!stopping.aborted) {
      const write = this.#write();
      if (this.#choose(6) === 0) await this.#sendUntilAccepted(write, `${this.#name}-${this.#writes}`);
      else await this.#once(write);
      if (this.#place.pauseMs > 0) await sleep(this.#place.pauseMs);
    }
    this.#agent.destroy();
  }

  /** Returns the next write: what is to be sent, and how its response is handled. */
  #write(): Write {
    const choice = this.#choose(10);
    if (choice === 0) return this.#batch();
    if (choice === 1) return this.#upload();
    const kind = (['payer', 'patient', 'encounter', 'facility'] as const)[this.#choose(4)] ?? 'payer';
    return this.#upsert(kind, this.#fields(kind, this.#choose(RECORDS)));
  }

  /** Returns fields that were never sent before. */
  #fields(kind: Kind, record: number): Fields {
    this.#writes += 1;
    const id = `${this.#name}-${kind}-${kind === 'encounter' ? 0 : record}`;
    const fresh = `${this.#name} ${this.#writes}`;
    if (kind === 'patient') return { id, first_name: fresh, last_name: 'Lopez', date_of_birth: '1984-02-29' };
    if (kind === 'encounter') return { id, patient_id: `${this.#name}-patient-0`, status: fresh };
    return { id, name: fresh };
  }

  #attempt(kind: Kind, fields: Fields): Attempt {
    const stream = recordStream(this.#place.workspace, kind, fields.id as string);
    return this.#place.ledger.attempt(stream, contentOf(fields));
  }

  #upsert(kind: Kind, fields: Fields): Write {
    const attempt = this.#attempt(kind, fields);
    return {
      request: jsonRequest(`/integration/${plurals[kind]}`, 'application/json', JSON.stringify(fields)),
      take: (answer) => {
        attempt.version = bodyOf(answer).version;
        return true;
      },
    };
  }

  #batch(): Write {
    const lines = Array.from({ length: LINES }, () => {
      const kind = (['payer', 'patient', 'facility'] as const)[this.#choose(3)] ?? 'payer';
      const fields = this.#fields(kind, this.#choose(RECORDS));
      return { attempt: this.#attempt(kind, fields), text: `${JSON.stringify({ kind, record: fields })}\n` };
    });
    const text = lines.map((line) => line.text).join('');
    return {
      request: jsonRequest('/integration/batch', 'application/x-ndjson', text),
      take: ({ bytes, isWhole }) => {
        const told = bytes.toString().split('\n').slice(0, -1);
        const results = told.map((line) => JSON.parse(line)).filter(({ line }) => line !== undefined);
        for (const { line, status, version } of results) {
          const attempt = lines[line - 1]?.attempt as Attempt;
          if (status === 200) attempt.version = version;
          else if (!passing.has(status)) this.#place.failures.push(`a line of a batch got ${status}`);
        }
        return isWhole && results.length === LINES && results.every(({ status }) => status === 200);
      },
    };
  }

  #upload(): Write {
    this.#writes += 1;
    const [encounter, document] = [`${this.#name}-encounter-0`, `${this.#name}-document-${this.#choose(2)}`];
    const random = randomBytes(1 + this.#choose(LARGEST_DOCUMENT));
    const content = Buffer.concat([Buffer.from('%PDF-1.7\n'), random]);
    const stream = documentStream(this.#place.workspace, encounter, document);
    const digest = createHash('sha256').update(content).digest('hex');
    const attempt = this.#place.ledger.attempt(stream, digest);
    const fields = [part.field('document_id', document), part.field('category', 'lab_results')];
    const body = formBody([...fields, part.file(content)]);
    return {
      request: { method: 'POST', path: documentsPath(encounter), headers: formType, body },
      take: (answer) => {
        attempt.version = bodyOf(answer).version;
        return true;
      },
    };
  }

  async #once({ request, take }: Write, headers: Record<string, string> = {}): Promise<boolean> {
    const { url, key, answers, failures } = this.#place;
    const sent = { ...request, headers: { ...request.headers, ...headers, 'x-api-key': key } };
    const answer = await send(await url(), this.#agent, sent);
    const name = nameOf(answer);
    answers.set(name, (answers.get(name) ?? 0) + 1);
    if (answer.hung) failures.push(`no answer to ${request.path}`);
    // The results of a batch before its response was interrupted count.
    if (answer.status === 200 && (answer.isWhole || request.path.endsWith('/batch'))) return take(answer);
    if (answer.isWhole && !passing.has(answer.status))
      failures.push(`${request.path} was answered with ${answer.status}: ${answer.bytes}`);
    await sleep(PAUSE_MS);
    return false;
  }

  /** Sends a write under one key until all of it is acknowledged. */
  async #sendUntilAccepted(write: Write, key: string): Promise<void> {
    while (!(await this.#once(write, { 'idempotency-key': key })));
  }
}

const plurals = { payer: 'payers', patient: 'patients', encounter: 'encounters', facility: 'facilities' };

type Kind = keyof typeof plurals;

/** A write that can be sent again. `take` notes what was acknowledged, and returns whether that is all of it. */
interface Write {
  request: Request;
  take(answer: Answer): boolean;
}

function jsonRequest(path: string, type: string, body: string): Request {
  return { method: 'POST', path, headers: { 'content-type': type }, body };
}

/** Returns a short name for a response. */
function nameOf(answer: Answer): string {
  if (!answer.isWhole) return 'broken off';
  return answer.status === 200 ? '200' : `${answer.status} ${bodyOf(answer).code}`;
}
