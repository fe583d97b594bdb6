import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { parseJson } from '../../../domain/events/event.ts';
import { CommandError } from '../../lib/terminal.ts';
import { writeDurably } from '../import/state.ts';

const pulledFileSchema = z.object({
  /** The name of the file in the folder, without its ending. */
  name: z.string(),
  /** A type of resource, or what else an export lists. */
  type: z.string(),
  kind: z.enum(['resources', 'deleted', 'errors']),
  /** Where to download it; undefined for one that was written from a search. */
  url: z.string().optional(),
  sha256: z.string().optional(),
  state: z.enum(['listed', 'downloaded', 'imported']),
});
export type PulledFile = z.infer<typeof pulledFileSchema>;

const runSchema = z.object({
  /** Unique to the run. */
  id: z.string(),
  /** What was asked for. */
  request: z.string(),
  /** The lower limit of changes, as sent. */
  since: z.string().optional(),
  /** Where an export reports its progress. */
  statusUrl: z.string().optional(),
  /** Whether files are downloaded with the token. */
  withToken: z.boolean().optional(),
  /** The time of the EMR up to which changes are in the files. */
  transactionTime: z.string().optional(),
  /** Undefined until all of them are known. */
  files: z.array(pulledFileSchema).optional(),
  accepted: z.int(),
  rejected: z.int(),
});
export type PullRun = z.infer<typeof runSchema>;

const stateSchema = z.object({
  /** The address of the EMR's interface. */
  fhir: z.string(),
  /** By what was asked for: the transaction time of the last complete run. */
  pulled: z.record(z.string(), z.string()),
  /** The run that is not complete. */
  run: runSchema.optional(),
});
type State = z.infer<typeof stateSchema>;

/** How far a folder's pulls came; survives a kill. */
export class PullState {
  readonly #path: string;
  #text: string | undefined;
  #state: State;

  private constructor(path: string, text: string | undefined, state: State) {
    this.#path = path;
    this.#text = text;
    this.#state = state;
  }

  /** Opens the state at a path, or begins it. Throws `CommandError` when it belongs to another EMR, or is damaged. */
  static open(path: string, fhir: string): PullState {
    const text = textAt(path);
    if (text === undefined) return new PullState(path, undefined, { fhir, pulled: {} });
    const parsed = stateSchema.safeParse(parseJson(text));
    if (!parsed.success) throw new CommandError(`${path} is not the state of a pull. Use another --folder.`);
    if (parsed.data.fhir !== fhir) {
      throw new CommandError(
        `The folder holds what was pulled from ${parsed.data.fhir}. Use a folder for each EMR.`,
      );
    }
    return new PullState(path, text, parsed.data);
  }

  get run(): PullRun | undefined {
    return this.#state.run;
  }

  /** Returns the time up to which a request was completely pulled before; undefined: never. */
  pulledUpTo(request: string): string | undefined {
    return this.#state.pulled[request];
  }

  /** Saves the run that is under way. Throws `CommandError` when another process pulls into the folder, or it cannot be written. */
  save(run: PullRun): PullRun {
    this.#write({ ...this.#state, run });
    return run;
  }

  /** Saves that the run is complete: the next one begins at its transaction time. Throws as `save` does. */
  complete({ request, transactionTime }: PullRun): void {
    const { run: _run, ...state } = this.#state;
    const pulled = { ...state.pulled, ...(transactionTime !== undefined && { [request]: transactionTime }) };
    this.#write({ ...state, pulled });
  }

  #write(state: State): void {
    const text = `${JSON.stringify(state)}\n`;
    try {
      if (textAt(this.#path) !== this.#text || !writeDurably(this.#path, text, this.#text === undefined)) {
        throw new CommandError(
          `Another process pulls into the same folder: it has written to ${this.#path}.`,
        );
      }
    } catch (error) {
      if (error instanceof CommandError) throw error;
      throw new CommandError(
        `The file ${this.#path} cannot be written (${(error as { code?: string }).code}).`,
      );
    }
    this.#text = text;
    this.#state = state;
  }
}

function textAt(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'ENOENT') return undefined;
    throw new CommandError(`The file ${path} cannot be read (${code}).`);
  }
}
