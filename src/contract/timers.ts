/** The longest time that a timer of Node can wait, in milliseconds: one that is told to wait longer fires at once. */
export const maxTimerMs = 2 ** 31 - 1;
