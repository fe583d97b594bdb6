import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CsvError, parse } from 'csv-parse';
import { validationError } from '../../domain/records/schema/validation.ts';
import type { ServiceError } from '../../platform/errors.ts';
import { ZIP_AREA } from './deidentificationSettings.ts';

/** The names of columns as the Census and others give them, in lower case. */
const zipColumns = ['zcta', 'zcta5', 'zcta5ce20', 'geoid20', 'geo_id', 'geoid', 'zip', 'zip_code', 'zipcode'];
const populationColumns = ['population', 'total_population', 'pop100', 'p1_001n', 'b01003_001e', 'pop'];
/** More people than this live in an area of which the first three digits may be shown (45 CFR 164.514(b)(2)(i)(B)). */
const MOST_HIDDEN = 20_000;

function refused(message: string): ServiceError {
  return validationError([{ field: 'zip_areas', message }]);
}

/** Folds the rows of a file: of areas, one a row, or of ZIP Code Tabulation Areas with their populations, under a header. */
class AreaRows {
  readonly #areas = new Set<string>();
  readonly #people = new Map<string, number>();
  readonly #zips = new Set<string>();
  #columns: { zip: number; population: number } | undefined;
  #rows = 0;

  add(cells: readonly string[], line: number): void {
    this.#rows += 1;
    const [first = ''] = cells.map((cell) => cell.trim());
    if (this.#columns) this.#count(cells, this.#columns, line);
    else if (cells.length === 1 && ZIP_AREA.test(first)) this.#areas.add(first);
    else if (this.#rows === 1) this.#columns = this.#columnsOf(cells);
    else throw refused(`line ${line} is not the first three digits of ZIP codes`);
  }

  /** Returns the areas, ascending. */
  result(): string[] {
    const large = [...this.#people].flatMap(([area, people]) => (people > MOST_HIDDEN ? area : []));
    const areas = [...this.#areas, ...large].sort();
    if (areas.length === 0) throw refused('has no area in which more than 20,000 people live');
    return areas;
  }

  #columnsOf(header: readonly string[]) {
    const names = header.map((cell) => cell.trim().toLowerCase());
    const [zip, population] = [zipColumns, populationColumns].map((known) =>
      names.findIndex((name) => known.includes(name)),
    ) as [number, number];
    if (zip === -1 || population === -1)
      throw refused(
        'has neither an area of three digits in each line, nor columns with ZCTAs (zcta) and people (population)',
      );
    return { zip, population };
  }

  #count(cells: readonly string[], { zip, population }: { zip: number; population: number }, line: number) {
    // `8600000US68102` and `ZCTA5 68102` in tables of the Census.
    const [code] = /\d{5}$/.exec((cells[zip] ?? '').trim()) ?? [];
    const people = (cells[population] ?? '').replaceAll(',', '').trim();
    // Some tables have their labels below the names of the columns.
    if (code === undefined && this.#rows === 2) return;
    if (code === undefined || !/^\d+$/.test(people))
      throw refused(`line ${line} has no ZCTA of five digits with a number of people`);
    if (this.#zips.has(code)) throw refused(`line ${line} has a ZCTA that is also in an earlier line`);
    this.#zips.add(code);
    const area = code.slice(0, 3);
    this.#people.set(area, (this.#people.get(area) ?? 0) + Number(people));
  }
}

/**
 * Reads the first three digits of the ZIP codes in whose area more than 20,000 people live, ascending: from a text with one such area a line, or from
 * a CSV with the people of each ZCTA, as the Census publishes it. Rejects with `validation_failed` when it is neither, and as the text's stream does.
 */
export async function readZipAreas(text: Readable): Promise<string[]> {
  const rows = new AreaRows();
  const parser = parse({ bom: true, info: true, skip_empty_lines: true, relax_column_count: true });
  try {
    await pipeline(
      text,
      parser,
      async (all: AsyncIterable<{ record: string[]; info: { lines: number } }>) => {
        for await (const { record, info } of all) rows.add(record, info.lines);
      },
    );
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw refused(`is not well-formed CSV (${error.code})`);
  }
  return rows.result();
}
