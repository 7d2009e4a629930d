;;; scenario.el --- hermit-dap under dap-mode, as `emacs --batch -l scenario.el`  -*- lexical-binding: t -*-

;; test_editors.py gives what is needed in HERMIT_DAP_SCENARIO. What dap-mode has no command for (stepBack and reverseContinue) is sent by its own
;; functions, as docs/EDITORS.md shows for an init file.

(require 'dap-mode)
(require 'dap-ui) ; dap-mode looks for the user's exception filters there
(require 'json)

(defvar hermit-given (json-parse-string (getenv "HERMIT_DAP_SCENARIO") :object-type 'alist))
(defvar hermit-frame nil "What the session shows: the frame of its last stop.")

(defun hermit-get (&rest keys)
  (let ((value hermit-given))
    (dolist (key keys value)
      (setq value (alist-get key value)))))

(defun hermit-wait (what test)
  "Until TEST gives something; that."
  (let ((until (+ (float-time) 60)) found)
    (while (not (setq found (funcall test)))
      (when (> (float-time) until)
        (error "No %s: %S" what hermit-frame))
      (accept-process-output nil 0.02))
    found))

(defun hermit-check (condition what)
  (unless condition
    (error "%s: %S" what hermit-frame)))

(dap-register-debug-provider
 "hermit"
 (lambda (conf)
   (plist-put conf :dap-server-path (list (hermit-get 'adapter) "--stdio"))))

(defun hermit-back (request)
  "REQUEST, stepBack or reverseContinue, for the thread that is shown."
  (dap--step request (dap--cur-session-or-die)))

(defun hermit-evaluate (expression context)
  (gethash "result"
           (dap-request (dap--cur-session) "evaluate" :expression expression :context context
                        :frameId (gethash "id" (dap--debug-session-active-frame (dap--cur-session))))))

(defun hermit-line ()
  "The line that is shown, once a run has ended."
  (hermit-wait "stop" (lambda () hermit-frame))
  (with-current-buffer (find-file-noselect (gethash "path" (gethash "source" hermit-frame)))
    (goto-char (point-min))
    (forward-line (1- (gethash "line" hermit-frame)))
    (buffer-substring-no-properties (line-beginning-position) (line-end-position))))

(defun hermit-after (function &rest arguments)
  (setq hermit-frame nil)
  (apply function arguments)
  (hermit-line))

(add-hook 'dap-stack-frame-changed-hook
          (lambda (session)
            (setq hermit-frame (dap--debug-session-active-frame session))))

(defun hermit-break (words)
  (with-current-buffer (find-file-noselect (hermit-get 'sources 'steps))
    (goto-char (point-min))
    (search-forward words)
    (dap-breakpoint-toggle)))

(defun hermit-thread ()
  (dap--debug-session-thread-id (dap--cur-session)))

(defun hermit-scenario ()
  (hermit-break "in square")
  (hermit-check (string-match-p "first line"
                                (hermit-after #'dap-debug (list :type "hermit" :request "launch" :name "hermit" :recording (hermit-get 'recordings 'steps) :stopAt "main")))
                "launch")
  (dotimes (n 2)
    (hermit-check (string-match-p "in square" (hermit-after (lambda () (dap-continue (dap--cur-session) (hermit-thread))))) "continue")
    (hermit-check (equal (hermit-evaluate "n" "watch") (number-to-string n)) "evaluate"))
  (hermit-check (string-match-p "in square" (hermit-after #'hermit-back "reverseContinue")) "reverseContinue")
  (hermit-check (equal (hermit-evaluate "n" "hover") "0") "evaluate after reverseContinue")
  (hermit-after #'dap-next (dap--cur-session))
  (hermit-check (string-match-p "in square" (hermit-after #'hermit-back "stepBack")) "stepBack")
  (hermit-break "in square")
  (hermit-break "the print")
  (hermit-check (string-match-p "the print" (hermit-after (lambda () (dap-continue (dap--cur-session) (hermit-thread))))) "the last breakpoint")
  (hermit-check (string-match-p "the change" (hermit-after #'hermit-evaluate "last-write p.x" "repl")) "last-write")
  (let ((process (dap--debug-session-proc (dap--cur-session))))
    (dap-disconnect (dap--cur-session))
    ;; dap-mode kills the adapter as soon as that says terminated
    (hermit-wait "end" (lambda () (not (process-live-p process))))))

(condition-case err
    (hermit-scenario)
  (error (message "%s" (error-message-string err))
         (kill-emacs 1)))
(kill-emacs 0)
;;; scenario.el ends here
