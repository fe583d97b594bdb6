import type { Message } from '../../messages/message.ts';
import { type Html, html } from '../shell/html.ts';
import { fileSize } from '../ui/documents.ts';
import { table } from '../ui/table.ts';
import { time } from '../ui/text.ts';
import { messagePath, messagesPath } from './messagePaths.ts';
import { formatTexts, stateBadge } from './messageTexts.ts';

/** Returns messages, each with a link to its page. */
export function messageTable(workspace: string, messages: readonly Message[]): Html {
  return table(
    'Messages, newest first',
    [
      {
        title: 'Received',
        isHeader: true,
        cell: ({ id, received_at }) =>
          html`<a href="/dashboard${messagePath(workspace, id)}">${time(received_at)}</a>`,
      },
      {
        title: 'Source',
        cell: ({ source }) =>
          html`<a href="/dashboard${messagesPath(workspace, { source })}" aria-label="Messages of ${source}">${source}</a>`,
      },
      { title: 'Format', cell: ({ format }) => html`<span class="nowrap">${formatTexts[format]}</span>` },
      { title: 'State', cell: ({ state }) => stateBadge(state) },
      { title: 'Records', cell: ({ records }) => records.toLocaleString('en-US') },
      { title: 'Problems', cell: ({ problems }) => problems.length },
      { title: 'Size', cell: ({ size }) => html`<span class="nowrap">${fileSize(size)}</span>` },
    ],
    messages,
  );
}
