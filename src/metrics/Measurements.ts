import { type AttributesOf, definitionOf, type MetricName, type NameOfKind } from './metricTable.ts';
import { type Attributes, Series, type SeriesReport } from './Series.ts';

/** What a thread tells of its measurements. */
export interface MeasurementsReport {
  /** Its number among all threads there ever were of the process. */
  thread: number;
  series: SeriesReport[];
}

/** What is measured in a thread, and in the first one also what the others tell it. */
export class Measurements {
  readonly #series = new Map<string, Series>();
  /** Gauges of other threads, by thread. */
  readonly #gauges = new Map<number, Map<string, SeriesReport>>();
  #onChange: () => void = () => undefined;

  /** A counter of these attributes: to be kept by who counts often. */
  counter<Name extends NameOfKind<'counter'>>(
    name: Name,
    attributes: AttributesOf<Name>,
  ): Pick<Series, 'add'> {
    return this.#of(name, attributes);
  }

  gauge<Name extends NameOfKind<'gauge'>>(
    name: Name,
    attributes: AttributesOf<Name>,
  ): Pick<Series, 'add' | 'set'> {
    return this.#of(name, attributes);
  }

  histogram<Name extends NameOfKind<'histogram'>>(
    name: Name,
    attributes: AttributesOf<Name>,
  ): Pick<Series, 'observe'> {
    return this.#of(name, attributes);
  }

  /** Has changes told: `onChange` is called when there are some that `takeReport` did not give yet. */
  tellChanges(onChange: () => void): void {
    this.#onChange = onChange;
    if (this.#series.size > 0) onChange();
  }

  /** What changed since the last report. */
  takeReport(): SeriesReport[] {
    return [...this.#series.values()].flatMap((series) => series.takeReport() ?? []);
  }

  /** Takes what another thread tells. */
  merge({ thread, series }: MeasurementsReport): void {
    for (const report of series) {
      const { name, attributes, values } = report;
      if (definitionOf(name).kind !== 'gauge') {
        this.#of(name, attributes).merge(values);
        continue;
      }
      const gauges = this.#gauges.get(thread) ?? new Map();
      this.#gauges.set(thread, gauges.set(keyOf(name, attributes), report));
    }
  }

  /** A thread has ended: what it counted stays, and its gauges are gone. */
  forget(thread: number): void {
    this.#gauges.delete(thread);
  }

  /** Everything as of now; gauges of all threads added up. */
  all(): SeriesReport[] {
    const all = new Map<string, SeriesReport>();
    for (const [key, { name, attributes, values }] of this.#series)
      all.set(key, { name, attributes, values });
    for (const gauges of this.#gauges.values()) {
      for (const [key, gauge] of gauges) {
        const values = [(all.get(key)?.values[0] ?? 0) + (gauge.values[0] as number)];
        all.set(key, { ...gauge, values });
      }
    }
    return [...all.values()];
  }

  #of(name: MetricName, attributes: Attributes): Series {
    const key = keyOf(name, attributes);
    let series = this.#series.get(key);
    if (series === undefined) {
      series = new Series(name, attributes, () => this.#onChange());
      this.#series.set(key, series);
    }
    return series;
  }
}

function keyOf(name: MetricName, attributes: Attributes): string {
  let key: string = name;
  for (const attribute in definitionOf(name).attributes) key += `\n${attributes[attribute]}`;
  return key;
}

/** What is measured in this thread. */
export const measurements = new Measurements();
