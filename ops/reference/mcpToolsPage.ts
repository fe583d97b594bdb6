import type { z } from 'zod';
import { tools } from '../../src/cli/commands/mcp/server.ts';
import type { Tool } from '../../src/cli/commands/mcp/tool.ts';

import { code, page, table } from './markdown.ts';

function sectionOf({
  name,
  title,
  description,
  input,
  privateInput = [],
  isPrivate,
  permissions,
}: Tool): string {
  const kinds = [...new Set(permissions.map((one) => (one.split(':')[0] === 'read' ? 'read' : one)))];
  const needed = kinds.length === 0 ? 'Any key.' : `Permission: ${kinds.map(code).join(' or ')}.`;
  const rows = Object.entries<z.ZodType>(input.shape).map(([parameter, schema]) => [
    code(parameter),
    schema.safeParse(undefined).success ? '' : 'yes',
    isPrivate || privateInput.includes(parameter) ? 'yes' : '',
    schema.meta()?.description ?? '',
  ]);
  return [
    `## ${name}`,
    `${title}. ${description}`,
    needed,
    table(['parameter', 'required', 'only with `--phi`', 'description'], rows),
  ].join('\n\n');
}

/** `docs/reference/mcp-tools.md` */
export function mcpToolsPage(): string {
  return page(
    'MCP tools',
    'The tools of `chartledger mcp`, for assistants. [Ask with an assistant](../guides/ask-with-an-assistant.md) shows how to connect one. Each tool only ' +
      'reads; each lists its output in its output schema.',
    ...tools.map(sectionOf),
  );
}
