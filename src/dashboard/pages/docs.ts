import { readdir, readFile } from 'node:fs/promises';
import { findPackageJSON } from 'node:module';
import { dirname, join, posix } from 'node:path';
import { raw } from 'hono/html';
import { Marked, Renderer } from 'marked';
import { ServiceError } from '../../platform/errors.ts';
import { type ContentsEntry, contents } from '../components/layout.ts';
import { type DashboardRoute, type Html, html } from '../components/page.ts';
import { docPath } from '../components/urls.ts';

/** The menu's entry. */
const SECTION = 'Documentation';
const INDEX = 'README';
const folder = join(dirname(findPackageJSON('.', import.meta.url) as string), 'docs');

interface Doc {
  title: string;
  body: Html;
  parts: Part[];
}

/** A heading below the title, with the documents to which the text below it leads. */
interface Part extends ContentsEntry {
  entries: ContentsEntry[];
}

/** The documentation of the package, for places without the internet. Anybody may read it: it holds no data, and the sign-in has help. */
export function docsRoutes(): DashboardRoute[] {
  const library = new Library();
  const page = (path: string): DashboardRoute => ({
    ...{ method: 'get', path, roles: 'public', query: [] },
    async handle({ req }) {
      const { folder, doc } = req.params;
      const name = folder === undefined ? String(doc) : `${folder}/${doc}`;
      const { title, body } = await library.open(name);
      const frame = html`<div class="reference">
<div class="contents" tabindex="0">${contents(SECTION, await library.contents(name), name)}</div>
<div class="doc">${body}</div>
</div>`;
      return { page: { title, section: SECTION, body: frame } };
    },
  });
  const index = { redirect: `/docs/${INDEX}` };
  return [
    { method: 'get', path: '/docs', roles: 'public', handle: async () => index },
    page('/docs/:doc'),
    page('/docs/:folder/:doc'),
  ];
}

/** The files of the documentation. Each is read once: they do not change while the process runs. */
class Library {
  #names: ReadonlySet<string> | undefined;
  readonly #docs = new Map<string, Doc>();

  /** Returns a document by its name (`guides/import`); rejects with `not_found` if the package has no such document. */
  async open(name: string): Promise<Doc> {
    const known = this.#docs.get(name);
    if (known) return known;
    this.#names ??= await list();
    if (!this.#names.has(name)) throw new ServiceError('not_found', 'There is no such page.');
    const doc = render(await readFile(join(folder, `${name}.md`), 'utf8'), name, this.#names);
    this.#docs.set(name, doc);
    return doc;
  }

  /** Returns the documents as the index groups them, with the headings of the document `name`. */
  async contents(name: string): Promise<ContentsEntry[]> {
    const headings = (await this.open(name)).parts.map((part) => ({ ...part, entries: [] }));
    const { parts: groups } = await this.open(INDEX);
    return groups.map((group) => ({
      ...group,
      entries: group.entries.map((entry) => (entry.id === name ? { ...entry, entries: headings } : entry)),
    }));
  }
}

/** Returns the names of all documents. */
async function list(): Promise<ReadonlySet<string>> {
  const files = await readdir(folder, { recursive: true });
  return new Set(files.filter((file) => file.endsWith('.md')).map((file) => file.slice(0, -3)));
}

/** Returns a document as markup. Links lead to the pages of other documents; what the package does not have is no link, and no image. */
function render(source: string, name: string, names: ReadonlySet<string>): Doc {
  const ids = new Map<string, number>();
  const parts: Part[] = [];
  let title = name;
  const renderer: Partial<Renderer> & ThisType<Renderer> = {
    heading({ depth, tokens }) {
      const plain = this.parser.parseInline(tokens, this.parser.textRenderer);
      const id = anchorOf(plain, ids);
      const text = this.parser.parseInline(tokens);
      if (depth === 1) {
        title = plain;
        return `<h1>${text}</h1>`;
      }
      if (depth === 2) parts.push({ id, title: plain, path: docPath(name, id), entries: [] });
      return `<h${depth} id="${id}"><a class="anchor" href="#${id}">${text}</a></h${depth}>`;
    },
    code({ text }) {
      return html`<pre tabindex="0"><code>${text}</code></pre>`.toString();
    },
    table(token) {
      return `<div class="doc-table" tabindex="0">${Renderer.prototype.table.call(this, token)}</div>`;
    },
    link({ href, tokens }) {
      const text = this.parser.parseInline(tokens);
      if (/^(?:https?:|#)/.test(href)) return `<a href="${href}">${text}</a>`;
      const [path = '', anchor] = href.split('#');
      const id = posix.join(posix.dirname(name), path).replace(/\.md$/, '');
      if (!names.has(id)) return text;
      const title = this.parser.parseInline(tokens, this.parser.textRenderer);
      parts.at(-1)?.entries.push({ id, title, path: docPath(id) });
      return `<a href="${docPath(id, anchor)}">${text}</a>`;
    },
    image: () => '',
    html: ({ text }) => (text === '<br>' ? text : text.startsWith('<!--') ? '' : html`${text}`.toString()),
  };
  const body = new Marked({ renderer }).parse(source, { async: false });
  return { title, body: raw(body) as Html, parts };
}

/** Returns the anchor that GitHub gives a heading; `ids` counts those of the document. */
function anchorOf(title: string, ids: Map<string, number>): string {
  const anchor = title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
  const count = ids.get(anchor) ?? 0;
  ids.set(anchor, count + 1);
  return count === 0 ? anchor : `${anchor}-${count}`;
}
