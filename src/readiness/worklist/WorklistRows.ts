import { readinessModel } from '../../../projections/readinessModel.ts';
import type { Position } from '../../events/event.ts';
import type { ModelName, ReadModels, Row } from '../../ports/readModels.ts';

/** What is written at once, as a row of its own, so that it can be completed. */
interface LastWrite {
  rows: Row[];
  checkpoint: Position;
}

const lastWriteModel = readinessModel as ModelName<LastWrite>;
const LAST_WRITE = 'last write';

/**
 * Writes the rows of the worklist, of which there must be one writer. Counts are what was there with something added: were they
 * written and the encounters not, or the other way round, they would be wrong for good. A store need not have transactions, so
 * each write is noted whole before it is made, and what was cut off is made when the next writer opens.
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

  /** Writes rows, all or none, then the checkpoint; 0 leaves that as it is. */
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
