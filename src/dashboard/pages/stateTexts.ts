/** The states by which the worklist can be limited; `any` is all of them. */
export const shownStates = ['blocked', 'ready', 'not_completed', 'voided', 'any'] as const;
export type ShownState = (typeof shownStates)[number];

/** The same for people. */
export const stateTexts: Record<ShownState, string> = {
  blocked: 'Blocked',
  ready: 'Ready',
  not_completed: 'Not completed',
  voided: 'Void',
  any: 'All',
};
