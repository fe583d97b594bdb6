import { setImmediate as nextTurn } from 'node:timers/promises';
import { readinessModel } from '../../../projections/readinessModel.ts';
import type { Position } from '../../events/event.ts';
import type { EventLog } from '../../ports/eventLog.ts';
import type { ModelName, ReadModels, Row } from '../../ports/readModels.ts';
import { allRows } from '../../reads/allRows.ts';
import { readRuleSettings } from '../ruleSettings.ts';
import { type Encounters, evaluateRows } from './evaluateRows.ts';
import { WorklistRows } from './WorklistRows.ts';

/** Encounters evaluated, and written, at once. */
export const AT_ONCE = 500;

const workspacesModel = readinessModel as ModelName<{ workspace: string }>;
const WORKSPACES = 'workspaces';

export interface WorklistPorts {
  eventLog: EventLog;
  readModels: ReadModels;
}

/** What all who keep up the worklist share: they evaluate one after the other, as the counts are changed by each. */
export class WorklistWork {
  readonly #ports: WorklistPorts;
  readonly #rows: WorklistRows;
  readonly #workspaces = new Set<string>();
  #last: Promise<unknown> = Promise.resolve();

  private constructor(ports: WorklistPorts, rows: WorklistRows) {
    this.#ports = ports;
    this.#rows = rows;
  }

  /** Rejects with `unavailable`. */
  static async open(ports: WorklistPorts): Promise<WorklistWork> {
    const work = new WorklistWork(ports, await WorklistRows.open(ports.readModels));
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
   * Evaluates encounters by what is known at `position` or later, and writes what became of them; with the last of them the rows
   * `beside`. Rejects with `unavailable`.
   */
  async evaluate(
    workspace: string,
    encounters: Encounters,
    position: Position,
    beside: readonly Row[] = [],
  ): Promise<void> {
    const chunks = chunksOf(encounters);
    for (const [index, chunk] of chunks.entries()) {
      await this.#alone(async () => {
        const settings = await readRuleSettings(this.#ports.eventLog, workspace);
        const rows = await evaluateRows(this.#ports.readModels, workspace, chunk, settings, position);
        const known = this.#workspaces.has(workspace) ? [] : workspaceRows(workspace, chunk, position);
        await this.#rows.write([...known, ...rows, ...(index === chunks.length - 1 ? beside : [])]);
        this.#workspaces.add(workspace);
      });
      await nextTurn();
    }
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

/** At least one, which may be empty. */
function chunksOf(encounters: Encounters): Encounters[] {
  const all = [...encounters];
  const count = Math.max(1, Math.ceil(all.length / AT_ONCE));
  return Array.from({ length: count }, (_, at) => new Map(all.slice(at * AT_ONCE, (at + 1) * AT_ONCE)));
}

function workspaceRows(workspace: string, encounters: Encounters, position: Position): Row[] {
  const [order] = encounters.values();
  if (order === undefined) return [];
  return [{ id: `${workspace} workspace`, partition: WORKSPACES, order, position, body: { workspace } }];
}
