// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Chooses the theme before anything is painted. It is a file of its own because the page allows no inline script.
try {
  const theme = localStorage.getItem('nestor-theme');
  if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme;
} catch {
  // Without storage the system's theme holds.
}
