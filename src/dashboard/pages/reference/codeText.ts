/** How a language writes values. */
export interface Dialect {
  text(value: string): string;
  key(name: string): string;
  words: Record<'true' | 'false' | 'null', string>;
  /** One step of indentation. */
  indent: string;
}

export const typescript: Dialect = {
  text: (value) => (/['\\\n]/.test(value) ? JSON.stringify(value) : `'${value}'`),
  key: (name) => (/^\w+$/.test(name) ? name : `'${name}'`),
  words: { true: 'true', false: 'false', null: 'null' },
  indent: '  ',
};

export const python: Dialect = {
  text: (value) => JSON.stringify(value),
  key: (name) => JSON.stringify(name),
  words: { true: 'True', false: 'False', null: 'None' },
  indent: '    ',
};

/** Returns a JSON value as a literal of the language; lines after the first begin with `margin`. */
export function codeText(dialect: Dialect, value: unknown, margin = ''): string {
  if (typeof value === 'string') return dialect.text(value);
  if (typeof value === 'number') return String(value);
  if (value === null || typeof value !== 'object') {
    return dialect.words[String(value) as keyof Dialect['words']];
  }
  const inner = `${margin}${dialect.indent}`;
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  const items = Object.entries(value).map(([name, item]) => {
    const text = codeText(dialect, item, inner);
    return Array.isArray(value) ? text : `${dialect.key(name)}: ${text}`;
  });
  if (items.length === 0) return `${open}${close}`;
  return `${open}\n${items.map((item) => `${inner}${item},\n`).join('')}${margin}${close}`;
}
