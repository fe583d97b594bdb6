import { readinessModel } from '../../../projections/readinessModel.ts';
import type { Position } from '../../domain/events/event.ts';
import type { ModelName, ReadModels, Row } from '../../storage/readModels.ts';

/** What is written at once, as a row of its own, so that it can be completed. */
interface LastWrite {
  rows: Row[];
  checkpoint: Position;
}

const lastWriteModel = readinessModel as ModelName<LastWrite>;
const LAST_WRITE = 'last write';

/**
 * Writes the rows of the worklist; there must be only one writer. Counts are increments on what was there: if they
 * were written without the encounters, or the other way round, they would be wrong for good. A store need not have
 * transactions, so each write is noted as a whole before it is made, and an interrupted one is completed when the
 * next writer opens.
 */
export class WorklistRows {
  readonly #readModels: ReadModels;
  #place: Position;

  private constructor(readModels: ReadModels, place: Position) {
    this.#readModels = readModels;
    this.#place = place;
  }

  /** Completes the last write. Rejects with `unavailable`, and with `conflict` as `ReadModels.write` does. */
  static async open(readModels: ReadModels): Promise<WorklistRows> {
    const [last] = await readModels.load(lastWriteModel, [LAST_WRITE]);
    if (last) await readModels.write({ model: readinessModel, ...last.body });
    return new WorklistRows(readModels, last?.position ?? 0);
  }

  /** Writes rows, all or none, then the checkpoint; 0 leaves it as it is. */
  async write(rows: Row[], checkpoint: Position = 0): Promise<void> {
    this.#place += 1;
    const note = { id: LAST_WRITE, partition: LAST_WRITE, order: 0, position: this.#place };
    await this.#readModels.write(
      ...(rows.length === 0
        ? []
        : [{ model: readinessModel, rows: [{ ...note, body: { rows, checkpoint } }], checkpoint: 0 }]),
      { model: readinessModel, rows, checkpoint },
    );
  }
}
