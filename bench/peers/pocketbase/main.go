// PocketBase with the collections of the comparison. `pocketbase serve --dir FOLDER` fills the new folder, listens on a
// free port and writes one line of JSON: its address, a user's token, its versions and its settings.
//
// SYNCHRONOUS=FULL flushes each commit of the data to disk; with NORMAL, PocketBase opens its databases as it ships.
// MESSAGES is the number of messages in the channel at the start.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
)

const (
	channel  = "builds"
	signedIn = "@request.auth.id != ''"
)

func main() {
	config := pocketbase.Config{HideStartBanner: true}
	if os.Getenv("SYNCHRONOUS") == "FULL" {
		config.DBConnect = connectFull
	}
	app := pocketbase.NewWithConfig(config)
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		if err := serve(e); err != nil {
			return err
		}
		return e.Next()
	})
	if err := app.Start(); err != nil {
		log.Fatal(err)
	}
}

// connectFull takes the pragmas of core.DefaultDBConnect (v0.39.11) and changes only `synchronous`. The database of the
// log keeps the default: Parley does not flush its log either.
func connectFull(path string) (*dbx.DB, error) {
	if filepath.Base(path) != "data.db" {
		return core.DefaultDBConnect(path)
	}
	return dbx.Open("sqlite", path+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)"+
		"&_pragma=journal_size_limit(200000000)&_pragma=synchronous(FULL)&_pragma=foreign_keys(ON)"+
		"&_pragma=temp_store(MEMORY)&_pragma=cache_size(-32000)")
}

func serve(e *core.ServeEvent) error {
	// The installer opens a browser when there is no superuser.
	e.InstallerFunc = nil

	author, err := seed(e.App)
	if err != nil {
		return err
	}
	token, err := author.NewAuthToken()
	if err != nil {
		return err
	}
	if e.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return err
	}
	return report(e, author.Id, token)
}

// seed makes the collections, two users and their messages, and returns the user whose token posts.
func seed(app core.App) (*core.Record, error) {
	count, err := strconv.Atoi(os.Getenv("MESSAGES"))
	if err != nil {
		return nil, err
	}
	var authors []*core.Record
	err = app.RunInTransaction(func(tx core.App) error {
		if authors, err = addUsers(tx, "Acme owner", "Build Bot"); err != nil {
			return err
		}
		messages, err := addMessagesCollection(tx, authors[0].Collection())
		if err != nil {
			return err
		}
		return addMessages(tx, messages, authors, count)
	})
	if err != nil {
		return nil, err
	}
	return authors[1], nil
}

func addUsers(app core.App, names ...string) ([]*core.Record, error) {
	collection, err := app.FindCollectionByNameOrId("users")
	if err != nil {
		return nil, err
	}
	// By default users see only themselves, so a message by somebody else would come without its author.
	collection.ViewRule = types.Pointer(signedIn)
	if err := app.Save(collection); err != nil {
		return nil, err
	}
	users := make([]*core.Record, len(names))
	for i, name := range names {
		users[i] = core.NewRecord(collection)
		users[i].Set("name", name)
		users[i].SetEmail(fmt.Sprintf("user%d@example.com", i))
		users[i].SetRandomPassword()
		if err := app.Save(users[i]); err != nil {
			return nil, err
		}
	}
	return users, nil
}

func addMessagesCollection(app core.App, users *core.Collection) (*core.Collection, error) {
	messages := core.NewBaseCollection("messages")
	messages.ListRule = types.Pointer(signedIn)
	messages.CreateRule = types.Pointer(signedIn)
	messages.Fields.Add(
		&core.TextField{Name: "channel", Required: true},
		&core.RelationField{Name: "author", CollectionId: users.Id, MaxSelect: 1, Required: true},
		&core.TextField{Name: "body", Required: true, Max: 8000},
		&core.AutodateField{Name: "created", OnCreate: true},
	)
	messages.AddIndex("messages_by_channel", false, "channel, created", "")
	return messages, app.Save(messages)
}

// addMessages adds the same messages that Parley's channel holds, by each of the authors in turn.
func addMessages(app core.App, messages *core.Collection, authors []*core.Record, count int) error {
	for n := 1; n <= count; n++ {
		message := core.NewRecord(messages)
		message.Set("channel", channel)
		message.Set("author", authors[n%len(authors)].Id)
		message.Set("body", fmt.Sprintf(
			"Build %d of the main branch passed in 4 minutes and 12 seconds: 1204 tests, none of them flaky.", n))
		if err := app.Save(message); err != nil {
			return err
		}
	}
	return nil
}

// report writes the line. The settings are read back from where they take effect.
func report(e *core.ServeEvent, author string, token string) error {
	var sqlite string
	var synchronous int
	row := e.App.NonconcurrentDB().NewQuery("SELECT sqlite_version(), synchronous FROM pragma_synchronous")
	if err := row.Row(&sqlite, &synchronous); err != nil {
		return err
	}
	settings := e.App.Settings()
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"url":     "http://" + e.Listener.Addr().String(),
		"channel": channel,
		"author":  author,
		"token":   token,
		"about": map[string]any{
			"version":     version(),
			"go":          runtime.Version(),
			"sqlite":      sqlite,
			"synchronous": []string{"OFF", "NORMAL", "FULL", "EXTRA"}[synchronous],
			"isLimited":   settings.RateLimits.Enabled,
			"logDays":     settings.Logs.MaxDays,
		},
	})
}

func version() string {
	build, _ := debug.ReadBuildInfo()
	for _, module := range build.Deps {
		if module.Path == "github.com/pocketbase/pocketbase" {
			return module.Version
		}
	}
	return "unknown"
}
