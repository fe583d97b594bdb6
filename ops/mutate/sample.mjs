import { createHash } from 'node:crypto';
import { declareValuePlugin, PluginKind } from '@stryker-mutator/api/plugin';

/** One of how many expressions is mutated: some 200 mutants that tests run. */
const ONE_OF = Number(process.env.MUTATE_ONE_OF ?? 90);

const places = new Set([
  'start',
  'end',
  'loc',
  'range',
  'extra',
  'leadingComments',
  'innerComments',
  'trailingComments',
]);
const shapeOf = (node) => JSON.stringify(node, (name, value) => (places.has(name) ? undefined : value));

/** A whole expression, without the body of a function. */
const isUnit = (path) => path.isExpression() && !shapeOf(path.node).includes('"BlockStatement"');

/** Selects expressions by a hash of what they say, so that the sample stays the same while code around it changes. */
const ignorer = {
  shouldIgnore(path) {
    if (!isUnit(path) || path.findParent(isUnit)) return undefined;
    const hash = createHash('sha256').update(shapeOf(path.node)).digest().readUInt32BE();
    return hash % ONE_OF === 0 ? undefined : 'not in the sample';
  },
};

export const strykerPlugins = [declareValuePlugin(PluginKind.Ignore, 'sample', ignorer)];
