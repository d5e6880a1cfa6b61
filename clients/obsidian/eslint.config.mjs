import obsidianmd from "eslint-plugin-obsidianmd";
import { defineConfig } from "eslint/config";

// The rules that the review for the community directory runs, but for these.
export default defineConfig([
  { ignores: ["main.js"] },
  ...obsidianmd.configs.recommended,
  {
    languageOptions: {
      globals: { process: "readonly", require: "readonly" },
      parserOptions: { projectService: { allowDefaultProject: ["eslint.config.mjs"] } },
    },
    // The oldest app that is supported does not know them.
    rules: { "obsidianmd/settings-tab/prefer-setting-definitions": "off" },
  },
  // Loaded in the desktop app only.
  { files: ["src/desktop.ts"], rules: { "obsidianmd/no-nodejs-modules": "off" } },
  // Of a key that an input method takes, nothing but its code tells so.
  { files: ["src/search.ts"], rules: { "@typescript-eslint/no-deprecated": "off" } },
]);
