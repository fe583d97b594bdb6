import { setImmediate as nextTurn } from 'node:timers/promises';
import { readinessModel } from '../../../projections/readinessModel.ts';
import type { Position } from '../../domain/events/event.ts';
import { asUnreadable, UnreadableError } from '../../platform/errors.ts';
import type { ModelName, Row } from '../../storage/readModels.ts';
import { allRows } from '../records/queries/allRows.ts';
import type { QueryPorts } from '../records/queries/readRecord.ts';
import { announceChanges } from './announceChanges.ts';
import { type Encounters, evaluateRows } from './evaluateRows.ts';
import { readRuleSettings } from './rules/ruleSettings.ts';
import { rulesVersion } from './rulesVersion.ts';
import { WorklistRows } from './WorklistRows.ts';

/** Encounters evaluated, and written, at once. */
export const AT_ONCE = 500;

const workspacesModel = readinessModel as ModelName<{ workspace: string }>;
const WORKSPACES = 'workspaces';
const begunModel = readinessModel as ModelName<{ at: Position }>;
const BEGUN = 'begun';

/** Shared by all that keep up the worklist: they evaluate one after the other, as each changes the counts. */
export class WorklistWork {
  readonly #ports: QueryPorts;
  readonly #rows: WorklistRows;
  readonly #workspaces = new Set<string>();
  readonly #quietUntil: Position;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(ports: QueryPorts, rows: WorklistRows, quietUntil: Position) {
    this.#ports = ports;
    this.#rows = rows;
    this.#quietUntil = quietUntil;
  }

  /** Rejects with `unavailable`. */
  static async open(ports: QueryPorts): Promise<WorklistWork> {
    const rows = await WorklistRows.open(ports.readModels);
    const work = new WorklistWork(ports, rows, await begunAt(ports, rows));
    for await (const { body } of allRows(ports.readModels, workspacesModel, WORKSPACES)) {
      work.#workspaces.add(body.workspace);
    }
    return work;
  }

  /** Those that have encounters. */
  get workspaces(): readonly string[] {
    return [...this.#workspaces];
  }

  /**
   * Evaluates encounters by what is known at `position` or later, announces the changes, unless it is quiet, and
   * writes them; with the last of them the rows `beside`. Resolves with the ids of the other encounters of their
   * visits, where there are any, by their own ids. Rejects with `unavailable`.
   */
  async evaluate(
    workspace: string,
    encounters: Encounters,
    position: Position,
    { beside = [], isQuiet = false }: { beside?: readonly Row[]; isQuiet?: boolean } = {},
  ): Promise<Map<string, string[]>> {
    const chunks = chunksOf(encounters);
    const found = new Map<string, string[]>();
    for (const [index, chunk] of chunks.entries()) {
      await this.#alone(async () => {
        // What one workspace cannot read keeps no other from its worklist.
        const read = await readRuleSettings(this.#ports.eventLog, workspace).catch(asUnreadable);
        const settings = read instanceof UnreadableError ? undefined : read;
        const { rows, changes, visits } = await evaluateRows(
          this.#ports,
          workspace,
          chunk,
          settings,
          position,
        );
        if (!isQuiet && settings) {
          const announcing = {
            workspace,
            rulesVersion: rulesVersion(settings),
            quietUntil: this.#quietUntil,
          };
          await announceChanges(this.#ports, changes, announcing);
        }
        const known = this.#workspaces.has(workspace) ? [] : workspaceRows(workspace, chunk, position);
        await this.#rows.write([...known, ...rows, ...(index === chunks.length - 1 ? beside : [])]);
        this.#workspaces.add(workspace);
        for (const [id, ids] of visits) found.set(id, ids);
      });
      await nextTurn();
    }
    return found;
  }

  /** Writes rows, then the checkpoint. Rejects with `unavailable`. */
  write(rows: Row[], checkpoint?: Position): Promise<void> {
    return this.#alone(() => this.#rows.write(rows, checkpoint));
  }

  #alone<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }
}

/** Resolves with where the log ended when the worklist was begun. */
async function begunAt({ eventLog, readModels }: QueryPorts, rows: WorklistRows): Promise<Position> {
  const [begun] = await readModels.load(begunModel, [BEGUN]);
  if (begun) return begun.body.at;
  const at = await eventLog.head();
  await rows.write([{ id: BEGUN, partition: BEGUN, order: 0, position: 1, body: { at } }]);
  return at;
}

/** Returns at least one chunk, which may be empty. */
function chunksOf(encounters: Encounters): Encounters[] {
  const all = [...encounters];
  const count = Math.max(1, Math.ceil(all.length / AT_ONCE));
  return Array.from({ length: count }, (_, at) => new Map(all.slice(at * AT_ONCE, (at + 1) * AT_ONCE)));
}

function workspaceRows(workspace: string, encounters: Encounters, position: Position): Row[] {
  const [order] = [...encounters.values()].flatMap((due) => due.order ?? []);
  if (order === undefined) return [];
  return [{ id: `${workspace} workspace`, partition: WORKSPACES, order, position, body: { workspace } }];
}
