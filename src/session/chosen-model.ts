import type { NewEntry } from "../contract/entries.ts";
import type { Model, Provider } from "../contract/provider.ts";
import type { ModelChoice } from "./agent-session.ts";

/** The model that is asked next. */
export type ChosenModel = {
  readonly choice: () => ModelChoice;
  readonly model: () => Model;
  /** The provider of whatever model is chosen when it is asked. */
  readonly provider: Provider;
  /** Changes the model or the level of what comes next; what changed is kept. */
  choose(next: Partial<ModelChoice>): void;
};

/** Makes the choice that a session starts with, which is not kept again. */
export function createChosenModel(
  { model, provider, thinkingLevel }: ModelChoice,
  append: (entry: NewEntry) => void,
): ChosenModel {
  let choice: ModelChoice = { model, provider, thinkingLevel };
  return {
    choice: () => choice,
    model: () => choice.model,
    provider: { stream: (request, signal) => choice.provider.stream(request, signal) },
    choose(next) {
      const before = choice;
      choice = { ...choice, ...next };
      const { model, thinkingLevel } = choice;
      if (model.id !== before.model.id || model.provider !== before.model.provider)
        append({ type: "model_change", provider: model.provider, modelId: model.id });
      if (thinkingLevel !== before.thinkingLevel) append({ type: "thinking_level_change", thinkingLevel });
    },
  };
}
