import { type AttributesOf, definitionOf, type MetricName, type NameOfKind } from './metricTable.ts';
import { type Attributes, Series, type SeriesReport } from './Series.ts';

/** A thread's report of its measurements. */
export interface MeasurementsReport {
  /** Its number among all threads that the process has ever had. */
  thread: number;
  series: SeriesReport[];
}

/** The measurements of a thread, and in the first thread also what the others report to it. */
export class Measurements {
  readonly #series = new Map<string, Series>();
  /** Gauges of other threads, by thread. */
  readonly #gauges = new Map<number, Map<string, SeriesReport>>();
  #onChange: () => void = () => undefined;

  /** Returns the counter with these attributes: callers that count often should keep it. */
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

  /**
   * Requests change notifications: `onChange` is called when there are changes that `takeReport` has not returned
   * yet.
   */
  tellChanges(onChange: () => void): void {
    this.#onChange = onChange;
    if (this.#series.size > 0) onChange();
  }

  /** Returns what changed since the last report. */
  takeReport(): SeriesReport[] {
    return [...this.#series.values()].flatMap((series) => series.takeReport() ?? []);
  }

  /** Adds what another thread reports. */
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

  /** To be called when a thread has ended: what it counted stays, and its gauges are dropped. */
  forget(thread: number): void {
    this.#gauges.delete(thread);
  }

  /** Returns everything as of now, with the gauges of all threads added up. */
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

/** The measurements of this thread. */
export const measurements = new Measurements();
