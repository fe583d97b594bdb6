import { type Html, type HtmlValue, html } from './page.ts';

export interface TableColumn<Item> {
  title: string;
  cell(item: Item): HtmlValue;
  /** The cell names its row, as a header. */
  isHeader?: boolean;
  /**
   * The title links to the list in the order of the column; `order` says how it is sorted if it already is in that
   * order.
   */
  sort?: { href: string; order?: 'ascending' | 'descending' };
  /** On a desktop it shares what the others leave, a line a row: what is too long is cut off, and is to be found elsewhere. */
  isCut?: boolean;
  /** A count: at the end of its cell, below the others. */
  isNumber?: boolean;
  /** The title is the name of a record. */
  isName?: boolean;
  /** The title is only for screen readers: a column of buttons. */
  isTitleHidden?: boolean;
}

/**
 * Returns a table that scrolls by itself where it is wider than the page; on a phone its rows are stacked, each cell
 * under the title of its column. `label` says what it lists.
 */
export function table<Item>(label: string, columns: TableColumn<Item>[], items: readonly Item[]): Html {
  return html`<div class="table-scroll" role="region" aria-label="${label}" tabindex="0">
<table>
<thead><tr>${columns.map(heading)}</tr></thead>
<tbody>${rows(columns, items)}</tbody>
</table>
</div>`;
}

function heading<Item>({ title, sort, isName, isNumber, isTitleHidden }: TableColumn<Item>): Html {
  if (isTitleHidden) return html`<th scope="col"><span class="visually-hidden">${title}</span></th>`;
  if (sort === undefined)
    return html`<th scope="col"${isNumber && html` class="number"`}>${isName ? html`<bdi>${title}</bdi>` : title}</th>`;
  const { href, order } = sort;
  const arrow = order && html` <span aria-hidden="true">${order === 'ascending' ? '↑' : '↓'}</span>`;
  return html`<th scope="col"${order && html` aria-sort="${order}"`}><a href="${href}">${title}</a>${arrow}</th>`;
}

/** Returns the rows of such a table, so that more of them can be added. */
function rows<Item>(columns: TableColumn<Item>[], items: readonly Item[]): Html[] {
  return items.map(
    (item) =>
      html`<tr>${columns.map(({ title, cell, isHeader, isCut, isNumber, isTitleHidden }) => {
        const kind = isCut ? html` class="cut"` : isNumber && html` class="number"`;
        return isHeader
          ? html`<th scope="row"${kind}>${cell(item)}</th>`
          : html`<td${!isTitleHidden && html` data-title="${title}"`}${kind}>${cell(item)}</td>`;
      })}</tr>`,
  );
}

/** Returns a line for each of these in a cell that is one line high; several are to be opened, by the names in `summary`. */
export function linesCell(lines: readonly { name: string; line: HtmlValue }[]): HtmlValue {
  if (lines.length <= 1) return lines[0]?.line;
  const names = lines.map(({ name }) => name).join(', ');
  return html`<details class="entry"><summary><span>${names}</span></summary><ul class="plain">${lines.map(({ line }) => html`<li>${line}</li>`)}</ul></details>`;
}

/** Returns what is known about one thing: names with their values. */
export function definitionList(pairs: readonly (readonly [name: HtmlValue, value: HtmlValue])[]): Html {
  return html`<dl class="facts">${pairs.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}
