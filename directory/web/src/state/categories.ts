// The categories, for forms and filters.
import { api, ask, type Schemas } from "../api/client.ts";
import { Resource } from "./resource.ts";

export const categories = new Resource<readonly Schemas["Category"][]>(true);

export function loadCategories(): void {
  void categories.load("categories", async (signal) => (await ask(api.GET("/api/categories", { signal }))).items);
}
