import { terminal } from '../../server/terminal.ts';
import { fail, writeJson, writeLine } from '../lib/terminal.ts';

/** The exit code of a verification that had nothing to compare with. */
const NOTHING_COMPARED = 3;

/** What a verification finds: printed as it is found, or, as JSON, as one object at the end. */
export class Findings {
  readonly #isJson: boolean;
  readonly #problems: string[] = [];
  readonly #remarks: string[] = [];
  readonly #parts: Record<string, object> = {};
  #isNothing = false;

  constructor(isJson = false) {
    this.#isJson = isJson;
  }

  /** Notes why the verification failed. */
  problem(text: string): void {
    this.#problems.push(text);
    fail(text);
  }

  /** Notes that there was nothing to compare with. */
  nothing(text: string): void {
    this.#isNothing = true;
    this.problem(text);
    terminal().exitCode = NOTHING_COMPARED;
  }

  remark(text: string): void {
    this.#remarks.push(text);
    if (!this.#isJson) writeLine(`Remark: ${text}`);
  }

  /** Notes what was verified: a member of the JSON object, or lines. */
  verified(name: string, part: object, lines: string[]): void {
    this.#parts[name] = part;
    if (!this.#isJson) for (const line of lines) writeLine(line);
  }

  /** Prints the JSON object. */
  end(): void {
    if (!this.#isJson) return;
    const failed = this.#isNothing && this.#problems.length === 1 ? 'nothing_compared' : 'failed';
    const outcome = this.#problems.length === 0 ? 'verified' : failed;
    writeJson({ outcome, ...this.#parts, problems: this.#problems, remarks: this.#remarks });
  }
}
