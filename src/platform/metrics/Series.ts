import { type AttributesOf, definitionOf, type MetricName } from './metricTable.ts';

export type Attributes = Readonly<Record<string, string | number>>;

/** A thread's report of one of its series: what was added since the last report; for a gauge, its value. */
export interface SeriesReport {
  name: MetricName;
  attributes: Attributes;
  values: number[];
}

/** A value that is read on demand. */
export function observed<Name extends MetricName>(
  name: Name,
  attributes: AttributesOf<Name>,
  value: number,
): SeriesReport {
  return { name, attributes, values: [value] };
}

/**
 * One metric with these attributes. `values` hold its count; for a gauge, its value; for a histogram, how many values
 * fell up to each boundary but not the one before, how many beyond the last, and the sum of all.
 */
export class Series {
  readonly name: MetricName;
  readonly attributes: Attributes;
  readonly values: number[];
  readonly #boundaries: readonly number[];
  readonly #onChange: () => void;
  #isChanged = false;

  /** `onChange` is called at the first change after each report. */
  constructor(name: MetricName, attributes: Attributes, onChange: () => void) {
    const { boundaries = [], kind } = definitionOf(name);
    this.name = name;
    this.attributes = attributes;
    this.values = new Array(kind === 'histogram' ? boundaries.length + 2 : 1).fill(0);
    this.#boundaries = boundaries;
    this.#onChange = onChange;
  }

  /** Adds to a counter, or a gauge. */
  add(amount = 1): void {
    this.values[0] = (this.values[0] as number) + amount;
    this.#changed();
  }

  /** Sets a gauge. */
  set(value: number): void {
    this.values[0] = value;
    this.#changed();
  }

  /** Records a value in a histogram. */
  observe(value: number): void {
    const { values } = this;
    const boundaries = this.#boundaries;
    let bucket = 0;
    while (bucket < boundaries.length && value > (boundaries[bucket] as number)) bucket += 1;
    const sum = values.length - 1;
    values[bucket] = (values[bucket] as number) + 1;
    values[sum] = (values[sum] as number) + value;
    this.#changed();
  }

  /** Adds what another thread reports of it. */
  merge(values: readonly number[]): void {
    for (const [index, value] of values.entries())
      this.values[index] = (this.values[index] as number) + value;
  }

  /** Returns what changed since the last report; undefined when nothing did. */
  takeReport(): SeriesReport | undefined {
    if (!this.#isChanged) return undefined;
    this.#isChanged = false;
    const { name, attributes } = this;
    const values = [...this.values];
    if (definitionOf(name).kind !== 'gauge') this.values.fill(0);
    return { name, attributes, values };
  }

  #changed(): void {
    if (this.#isChanged) return;
    this.#isChanged = true;
    this.#onChange();
  }
}
