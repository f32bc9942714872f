// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './App';
import './styles/tokens.css';
import './styles/base.css';
import './styles/frame.css';
import './styles/chat.css';
import './styles/task.css';
import './styles/inspector.css';
import './styles/pages.css';
import './styles/conversation.css';
import './styles/write.css';
import './styles/usage.css';
import './styles/tools.css';
import './styles/editor.css';
import './styles/runs.css';

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
