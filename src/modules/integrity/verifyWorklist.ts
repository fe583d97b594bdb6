import { isDeepStrictEqual } from 'node:util';
import { readinessModel } from '../../../projections/readinessModel.ts';
import { recordsModel } from '../../../projections/records.ts';
import type { Position } from '../../domain/events/event.ts';
import { kindPartition, recordIdOf, recordStream } from '../../domain/events/streamNames.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import type { ModelName, ReadModels, Row } from '../../storage/readModels.ts';
import { logMismatch } from '../projections/logMismatch.ts';
import { type Evaluation, evaluate } from '../readiness/evaluate.ts';
import { fanOutsModel, fanOutsPartition } from '../readiness/fanOut.ts';
import { worklistEventTypes } from '../readiness/followRecords.ts';
import { readRuleSettings } from '../readiness/rules/ruleSettings.ts';
import { entryOf, worklistEntry, worklistModel } from '../readiness/worklistEntry.ts';
import { listsOf, worklistPartition } from '../readiness/worklistLists.ts';
import { type Compared, type VerifiedModel, WaitBudget } from './verifyReadModels.ts';
import type { VerifyPorts } from './verifyWorkspace.ts';

const ENCOUNTERS_AT_ONCE = 200;

type WorklistRow = Parameters<typeof entryOf>[0];

/**
 * Reevaluates all encounters of some workspaces from the stored records and the log, and compares the stored worklist with the
 * result, up to the first difference. The records themselves are compared by `verifyReadModels`. Rejects with `unavailable`, with
 * `unreadable`, and at the signal.
 */
export async function verifyWorklist(
  ports: VerifyPorts,
  workspaces: readonly string[],
  signal: AbortSignal,
): Promise<VerifiedModel> {
  const result: VerifiedModel = { projection: 'readiness', model: readinessModel, rows: 0, unwritten: 0 };
  const mismatch = await logMismatch(ports, readinessModel);
  if (mismatch) return { ...result, mismatch };
  const budget = new WaitBudget();
  for (const workspace of workspaces) {
    for await (const found of new Worklist(ports, workspace, budget).compared()) {
      signal.throwIfAborted();
      if (found === 'same') result.rows += 1;
      else if (found === 'unwritten') result.unwritten += 1;
      else return { ...result, difference: found };
    }
  }
  return result;
}

/** The worklist of a workspace. */
class Worklist {
  readonly #ports: VerifyPorts;
  readonly #workspace: string;
  readonly #budget: WaitBudget;

  constructor(ports: VerifyPorts, workspace: string, budget: WaitBudget) {
    this.#ports = ports;
    this.#workspace = workspace;
    this.#budget = budget;
  }

  /** Yields the result for each encounter, and for each row that stands for none. */
  async *compared(): AsyncGenerator<Compared> {
    const { readModels } = this.#ports;
    const partition = kindPartition(this.#workspace, encounter.kind);
    for await (const streams of streamsOf(readModels, recordsModel, partition)) {
      const rows = await this.#rows(streams);
      const evaluated = await this.#evaluate(streams);
      for (const stream of streams) {
        const isExpected = this.#isExpected(rows.get(stream), evaluated.get(stream));
        yield isExpected ? 'same' : await this.#look(stream);
      }
    }
    for await (const streams of streamsOf(readModels, worklistModel, worklistPartition(this.#workspace))) {
      const known = new Set((await readModels.load(recordsModel, streams)).map(({ id }) => id));
      for (const stream of streams) if (!known.has(stream)) yield this.#look(stream);
    }
  }

  /** Compares one row, which may change during the comparison, as may its encounter. */
  async #look(stream: string): Promise<Compared> {
    for (;;) {
      const before = (await this.#evaluate([stream])).get(stream);
      const isDone = await this.#isDone(await this.#ports.eventLog.head());
      const row = (await this.#rows([stream])).get(stream);
      const evaluation = (await this.#evaluate([stream])).get(stream);
      if (this.#isExpected(row, evaluation)) return 'same';
      // Where it was the same before and after, the row was not evaluated from anything else.
      if (isDone && isDeepStrictEqual(before, evaluation)) {
        const place = { partition: row?.partition ?? worklistPartition(this.#workspace) };
        const what = row === undefined ? 'missing' : evaluation === undefined ? 'added' : 'changed';
        return { what, ...place, position: row?.position ?? evaluation?.position ?? 0 };
      }
      if (!(await this.#budget.spend())) return 'unwritten';
    }
  }

  /** Whether everything up to a position in the log is evaluated. */
  async #isDone(position: Position): Promise<boolean> {
    const { eventLog, readModels } = this.#ports;
    const after = await readModels.checkpoint(readinessModel);
    if (after < position) {
      const { signal } = new AbortController();
      const filter = { eventTypes: worklistEventTypes };
      for await (const batch of eventLog.follow({ after, filter, signal })) {
        if (batch.events.some((event) => event.position <= position)) return false;
        if (batch.position >= position) break;
      }
    }
    const query = { partition: fanOutsPartition(this.#workspace), limit: 1 };
    return (await readModels.page(fanOutsModel, query)).length === 0;
  }

  /** A finding that has begun or ended with time since the row was written is evaluated soon. */
  #isExpected(row: WorklistRow, evaluation: Evaluation | undefined): boolean {
    const stored = entryOf(row);
    if (stored === undefined || row === undefined || evaluation === undefined)
      return stored === undefined && evaluation === undefined;
    const entry = worklistEntry(evaluation, Math.min(Date.now(), (stored.flips_at ?? Infinity) - 1));
    return isDeepStrictEqual(
      [row.partition, row.body, row.lists],
      [worklistPartition(this.#workspace), JSON.parse(JSON.stringify(entry)), listsOf(entry)],
    );
  }

  async #rows(streams: string[]): Promise<Map<string, NonNullable<WorklistRow>>> {
    const rows = await this.#ports.readModels.load(worklistModel, streams);
    return new Map(rows.map((row) => [row.id, row]));
  }

  async #evaluate(streams: readonly string[]): Promise<Map<string, Evaluation>> {
    const settings = await readRuleSettings(this.#ports.eventLog, this.#workspace);
    const ids = streams.map(recordIdOf);
    const evaluated = await evaluate(this.#ports, this.#workspace, ids, settings, () => true);
    const streamOf = (id: string) => recordStream(this.#workspace, encounter.kind, id);
    return new Map([...evaluated].map(([id, evaluation]) => [streamOf(id), evaluation]));
  }
}

async function* streamsOf<Body extends object>(
  readModels: ReadModels,
  model: ModelName<Body>,
  partition: string,
): AsyncGenerator<string[]> {
  for (let after: Row['order'] | undefined; ; ) {
    const query = { partition, limit: ENCOUNTERS_AT_ONCE, ...(after !== undefined && { after }) };
    const rows = await readModels.page(model, query);
    if (rows.length > 0) yield rows.map(({ id }) => id);
    if (rows.length < ENCOUNTERS_AT_ONCE) return;
    after = rows.at(-1)?.order;
  }
}
